"""Finished runs on disk, made once by the real command line, and the command line within this process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aworld_cli.cli.app import main

Call = Callable[..., "subprocess.CompletedProcess[str]"]

RIGHT, WRONG = "20260101T000000Z-right", "20260102T000000Z-wrong"
RECIPE = """\
aworld: 1
name: {name}
model: {{kind: arithmetic-teacher, accuracy: {accuracy}}}
tools: [{{kind: calculator}}]
environment: {{kind: arithmetic}}
stages:
  - rollout: {{split: train, tasks: 6}}
  - eval: {{split: test, tasks: 6, samples: 2, k: [1, 2]}}
"""


_made: list[Path] = []


def make_runs(factory: pytest.TempPathFactory) -> Path:
    """Return a directory of runs, made once a session: of a teacher that is always right, and a later one that errs."""
    if _made:
        return _made[0]
    folder = factory.mktemp("made")
    for name, accuracy in ((RIGHT, 1.0), (WRONG, 0.3)):
        recipe = name.partition("-")[2]
        (folder / f"{recipe}.yaml").write_text(RECIPE.format(name=recipe, accuracy=accuracy))
        command = [sys.executable, "-m", "aworld_cli", "run", f"{recipe}.yaml"]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        (run,) = (folder / "runs").glob(f"*Z-{recipe}")
        run.rename(run.with_name(name))  # a time that a test can name
    _made.append(folder / "runs")
    return _made[0]


def caller(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Return a function that runs a command line in this process, which saves the start of another."""

    def call(*arguments: str | Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            patch.chdir(folder)
            patch.setenv("COLUMNS", "200")
            for key, value in (env or {}).items():
                patch.setenv(key, value)
            patch.setattr(sys, "argv", ["aworld", *map(str, arguments)])
            capsys.readouterr()
            code: object = 0
            try:
                main()
            except SystemExit as error:
                code = error.code
            said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(str(code or 0)), said.out, said.err)

    return call
