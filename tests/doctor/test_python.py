"""Whose script `aworld` is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from aworld_cli.doctor import places, python
from tests.doctor.conftest import AddProgram


def test_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert python.python().status == "ok"
    monkeypatch.setattr(python, "SUPPORTED", ((3, 1),))
    found = python.python()
    assert found.status == "error" and found.remedy == "install aworld-cli under Python 3.1"


def test_another_distribution_that_brings_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, points in (("aworld", ""), ("Other_Thing", "[console_scripts]\naworld = other:main\n")):
        info = tmp_path / f"{name}-2.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
        (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = python.script()
    assert found.status == "error"
    assert found.detail.startswith("Other_Thing and aworld also installs a script")
    assert found.remedy.startswith("pip uninstall Other_Thing aworld && pip install --force-reinstall")


def test_the_script_on_the_path(add_program: AddProgram) -> None:
    assert python.script_owners() == ["aworld-cli"]
    found = python.script()
    assert found.status == "warning" and found.detail == "no `aworld` on PATH"
    path = add_program("aworld", "")
    found = python.script()
    assert found.status == "warning" and f"{path}, which is not of this interpreter" in found.detail
    path.write_text(f"#!{sys.executable}\n")
    assert python.script().status == "ok"


def test_a_runs_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWORLD_RUNS_DIR", str(tmp_path / "a" / "b"))
    assert places.runs_directory().status == "ok"
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setenv("AWORLD_RUNS_DIR", "/proc/1/runs")
    found = places.runs_directory()
    assert found.status == "error" and found.detail.startswith("/proc/1/runs cannot be written") and found.remedy


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWORLD_RUNS_DIR", str(tmp_path))
    for free, status in ((1 << 20, "error"), (1 << 30, "warning"), (1 << 40, "ok")):
        monkeypatch.setattr(places.shutil, "disk_usage", lambda path, free=free: type("U", (), {"free": free}))
        assert places.disk().status == status


def test_a_config_that_does_not_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "aworld").mkdir()
    file = tmp_path / "aworld" / "config.toml"
    file.write_text("max_errors = 3\n")
    assert places.config().status == "ok" and places.config().detail == str(file)
    file.write_text("max_error = 3\n")
    found = places.config()
    assert found.status == "error" and "did you mean 'max_errors'?" in found.detail and "\n" not in found.detail
