"""A recipe that uses the plugin: it runs, and runs again to the same result."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from aworld_cli.testing.check import Check, fail, require
from aworld_cli.trajectory.journal import read_journal

_SECONDS = 600.0
_CLOCKED = ("seconds", "model_seconds", "tool_seconds", "run", "time")


def checks(recipe: str | Path) -> list[Check]:
    """Return the checks of a recipe, given by its path or its text."""
    return [Check("recipe: runs, and again to the same result", lambda: _twice(recipe), 2 * _SECONDS)]


def _twice(recipe: str | Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = _written(recipe, Path(name))
        first, second = (_run(path, Path(name, str(number))) for number in range(2))
    for what, one, other in zip(("summary", "trajectories"), first, second, strict=True):
        require(
            one == other,
            f"recipe: its {what} differ between two runs of one seed: {_difference(one, other)}; everything random "
            "must derive from the seeds that components are given",
        )


def _written(recipe: str | Path, folder: Path) -> Path:
    if isinstance(recipe, Path) or "\n" not in recipe:
        return Path(recipe)
    path = folder / "recipe.yaml"
    path.write_text(recipe, encoding="utf-8")
    return path


def _run(path: Path, runs: Path) -> tuple[Any, Any]:
    """Return the summary and the trajectories of a run, without what a clock says."""
    __tracebackhide__ = True
    command = [sys.executable, "-m", "aworld_cli", "run", str(path), "--json", "--runs-dir", str(runs)]
    search = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": search},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        fail(f"recipe: {path} was not done within {_SECONDS:g} s; give the kit a smaller one")
    if done.returncode:
        said = done.stderr.decode(errors="replace")[-2_000:]
        fail(f"recipe: `aworld run {path}` ended with {done.returncode}:\n{said}")
    try:
        (summary,) = map(json.loads, done.stdout.splitlines())
    except ValueError:
        fail(f"recipe: stdout holds more than the result, so something prints to it: {done.stdout[:500]!r}")
    trajectories = {
        f"{journal.parent.name}/{record['episode']['task']}/{record['episode']['sample']}": _timeless(record)
        for journal in runs.glob("*/stages/*/trajectories.jsonl")
        for record in read_journal(journal)
    }
    return _timeless(summary), trajectories


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in _CLOCKED}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _difference(one: Any, other: Any, where: str = "") -> str:
    """Return the first place at which two plain values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            if one.get(key) != other.get(key):
                return _difference(one.get(key), other.get(key), f"{where}.{key}".lstrip("."))
    if isinstance(one, list) and isinstance(other, list):
        for number, (first, second) in enumerate(zip(one, other, strict=False)):
            if first != second:
                return _difference(first, second, f"{where}[{number}]")
    return f"{where or 'the whole'} is {one!r:.100} and {other!r:.100}"
