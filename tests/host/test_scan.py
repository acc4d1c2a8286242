"""Entry points are found in whatever state the metadata is in."""

from __future__ import annotations

import importlib.metadata
import sys
import zipfile
from pathlib import Path

import pytest

from aworld_cli.host.loader import load_plugins
from aworld_cli.host.scan import GROUP, Found, canonical, scan

NAME = "Metadata-Version: 2.1\nName: Aworld_Mine\nVersion: 2.0\n\nName: not this one\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory on `sys.path`, before all others."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (tmp_path / "site").mkdir()
    return tmp_path / "site"


def install(site: Path, folder: str, entry_points: str | bytes, metadata: str | None = NAME) -> Path:
    path = site / folder
    path.mkdir(parents=True)
    data = entry_points if isinstance(entry_points, bytes) else entry_points.encode()
    (path / "entry_points.txt").write_bytes(data)
    if metadata is not None:
        (path / "METADATA").write_text(metadata)
    return path


def mine(site: Path) -> list[Found]:
    return [found for found in scan() if found.metadata.startswith(str(site))]


def test_it_finds_what_importlib_finds() -> None:
    theirs = {
        (canonical(point.dist.name), point.dist.version, point.name, point.value)
        for point in importlib.metadata.entry_points(group=GROUP)
        if point.dist is not None
    }
    ours = {(canonical(one.distribution), one.version, one.name, one.value) for one in scan() if not one.first}
    assert theirs == ours and len(ours) >= 6


def test_other_groups_and_comments_are_left_out(site: Path) -> None:
    text = (
        "[console_scripts]\naworld-x = y:z\n\n[aworld]\n# a comment\n; another\nmine = my.module\n[aworld.x]\na = b\n"
    )
    install(site, "aworld_mine-2.0.dist-info", text)
    (found,) = mine(site)
    assert found[:4] == ("mine", "my.module", "Aworld_Mine", "2.0")


@pytest.mark.parametrize(
    ("folder", "entry_points", "metadata", "expected"),
    [
        ("aworld_mine-2.0.dist-info", "[aworld]\nmine = m\n", None, ("mine", "m", "aworld_mine", "2.0")),
        ("aworld_mine.egg-info", "[aworld]\nmine = m\n", None, ("mine", "m", "aworld_mine", "unknown")),
        ("aworld_mine-2.0.dist-info", "[aworld]\nmine = m\n", "garbage", ("mine", "m", "aworld_mine", "2.0")),
        ("aworld_mine-2.0.dist-info", "[aworld]\nno equals sign\n", NAME, ("no equals sign", "", "Aworld_Mine", "2.0")),
        ("aworld_mine-2.0.dist-info", "[aworld]\nmine =\n", NAME, ("mine =", "", "Aworld_Mine", "2.0")),
        (
            "aworld_mine-2.0.dist-info",
            b"\xff\xfe[x]\n[aworld]\r\nmine = m\r\n",
            NAME,
            ("mine", "m", "Aworld_Mine", "2.0"),
        ),
    ],
)
def test_damaged_metadata_is_read_as_far_as_it_goes(
    folder: str, entry_points: str | bytes, metadata: str | None, expected: tuple[str, ...], site: Path
) -> None:
    install(site, folder, entry_points, metadata)
    (found,) = mine(site)
    assert found[:4] == expected
    (plugin,) = [plugin for plugin in load_plugins() if plugin.metadata.startswith(str(site))]
    assert plugin.status == "failed"
    assert expected[1] or "its entry point is malformed" in plugin.reason


def test_what_is_no_metadata_is_left_alone(site: Path) -> None:
    install(site, "~world_mine-2.0.dist-info", "[aworld]\nmine = m\n")  # what pip could not remove
    (site / "file-1.0.dist-info").write_text("[aworld]\nmine = m\n")
    (site / "empty-1.0.dist-info").mkdir()
    (site / "loop-1.0.dist-info").symlink_to(site / "loop-1.0.dist-info")
    install(site, "deep-1.0.dist-info", "mine = m\n")
    assert mine(site) == []


def test_the_second_copy_of_a_distribution_is_shadowed(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = install(site, "aworld_mine-2.0.dist-info", "[aworld]\nmine = m\n")
    second = install(tmp_path / "other", "Aworld.Mine-1.0.dist-info", "[aworld]\nmine = m\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "other"), str(tmp_path / "other")])
    found = [plugin for plugin in load_plugins() if plugin.name == "mine"]
    assert [(plugin.status, plugin.metadata) for plugin in found] == [
        ("failed", str(first)),
        ("shadowed", str(second)),
    ]
    assert found[1].reason == f"Aworld_Mine is also in {first}"


def test_a_link_to_a_directory_on_the_path_is_the_same_directory(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(site, "aworld_mine-2.0.dist-info", "[aworld]\nmine = m\n")
    (tmp_path / "link").symlink_to(site)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "link"), *sys.path])
    assert len([one for one in scan() if one.name == "mine"]) == 1


def test_a_zip_file_on_the_path_is_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("aworld_mine-2.0.dist-info/METADATA", NAME)
        archive.writestr("aworld_mine-2.0.dist-info/entry_points.txt", "[aworld]\nmine = m\n")
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04 torn")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "torn.zip"), str(path), "", "\0", *sys.path])
    assert [one[:5] for one in scan() if one.name == "mine"] == [("mine", "m", "Aworld_Mine", "2.0", str(path))]


def test_two_entry_points_on_one_module(site: Path) -> None:
    (site / "test_plugin_shared.py").write_text("aworld_api = 1\n")
    install(site, "aworld_mine-2.0.dist-info", "[aworld]\na = test_plugin_shared\nb = test_plugin_shared\n")
    found = {plugin.name: plugin for plugin in load_plugins()}
    del sys.modules["test_plugin_shared"]
    assert found["a"].status == "ok" and found["b"].status == "failed"
    assert "names the same module as the plugin 'a' of Aworld_Mine" in found["b"].reason
