"""Fixtures that all tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import settings

# The same examples in every run: what nobody changed must not fail. `--hypothesis-profile=default` looks further.
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")

Aworld = Callable[..., subprocess.CompletedProcess[str]]
AddPlugin = Callable[..., Path]
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def aworld(tmp_path: Path) -> Aworld:
    """Run the real command line in a process of its own, in the test's directory."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None, timeout: float = 120) -> object:
        return subprocess.run(
            [sys.executable, "-m", "aworld_cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=timeout,
            env={**os.environ, "COLUMNS": "200", **(env or {})},
            check=False,
        )

    return run  # type: ignore[return-value]


@pytest.fixture
def add_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AddPlugin:
    """Install a plugin of one module for this test: distribution `aworld-NAME`, entry point `NAME`."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")])))

    def add(name: str, source: str, version: str = "1.0") -> Path:
        module = site / f"test_plugin_{name.replace('-', '_')}.py"
        module.write_text(source)
        info = site / f"aworld_{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: aworld-{name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[aworld]\n{name} = {module.stem}\n")
        return module

    return add


@pytest.fixture
def no_strays() -> Iterator[None]:
    """Fail when the test leaves a child process behind."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    _, alive = psutil.wait_procs(left, timeout=5)
    assert not [child.cmdline() for child in alive if child.is_running()]


TEACHER = """\
aworld: 1
name: teacher
seed: {seed}
model: {{kind: arithmetic-teacher}}
tools: [{{kind: calculator}}]
environment: {{kind: arithmetic}}
runtime: {{kind: local, concurrency: {concurrency}}}
stages:
  - rollout: {{split: train, tasks: {tasks}}}
  - eval: {{split: test, tasks: {tasks}, samples: 2, k: [1, 2]}}
"""


@pytest.fixture
def teacher_recipe(tmp_path: Path) -> Callable[..., Path]:
    """Write a recipe whose model is scripted, so that its results are exactly the same each time."""

    def write(tasks: int = 8, seed: int = 0, concurrency: int = 8, name: str = "teacher.yaml") -> Path:
        path = tmp_path / name
        path.write_text(TEACHER.format(tasks=tasks, seed=seed, concurrency=concurrency))
        return path

    return write


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Finished runs, made once."""
    from tests.stored import make_runs

    return make_runs(tmp_path_factory)


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the finished runs in the test's directory."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command line within this process, in the test's directory."""
    from tests.stored import caller

    return caller(tmp_path, capsys, monkeypatch)
