"""`lock.json` says what decides a run, and repeats it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.recipe.locked import differences
from aworld_cli.run.machine import git_revision, machine
from aworld_cli.seeds import derive_seed
from tests.conftest import Aworld

Recipe = Callable[..., Path]


def runs(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "runs").iterdir(), key=lambda path: path.stat().st_ctime_ns)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def records(run: Path, stage: str) -> dict[str, Any]:
    lines = (run / "stages" / stage / "trajectories.jsonl").read_text().splitlines()
    return {
        str(record["episode"]): [record["answer"], record["seed"], record["messages"]]
        for record in map(json.loads, lines)
    }


def test_what_a_lock_says(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    recipe = teacher_recipe(tasks=1, seed=5)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", recipe.name)
    git(tmp_path, "commit", "-q", "-m", "recipe")
    assert aworld("run", recipe).returncode == 0
    lock = json.loads((runs(tmp_path)[0] / "lock.json").read_text())
    assert lock["git"] == {"commit": git(tmp_path, "rev-parse", "HEAD"), "changed": False}
    assert lock["python"] == platform.python_version()
    assert lock["distributions"]["aworld-toolbox"] == version("aworld-toolbox")
    assert lock["seeds"]["eval"] == derive_seed(5, "stage", "eval")
    assert (lock["run"], lock["repeats"]) == (runs(tmp_path)[0].name, None)
    assert lock["machine"]["cores"] == os.cpu_count() and lock["machine"]["memory"] > 2**28


def test_git_tells_of_changes_and_of_no_repository(tmp_path: Path) -> None:
    assert git_revision(tmp_path / "absent") is None
    git(tmp_path, "init", "-q")
    assert git_revision(tmp_path) is None  # no commit yet
    (tmp_path / "file").write_text("1")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "one")
    (tmp_path / "file").write_text("2")
    found = git_revision(tmp_path)
    assert found is not None and found["changed"]
    assert machine()["processor"]


def test_a_lock_repeats_its_run(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    first = aworld("run", teacher_recipe(tasks=4), "--set", "seed=9", "--json")
    again = aworld("run", runs(tmp_path)[0] / "lock.json", "--json")
    assert again.returncode == 0, again.stderr
    one, two = runs(tmp_path)
    shown = [json.loads(done.stdout) for done in (first, again)]
    assert [stage["metrics"] for stage in shown[0]["stages"]] == [stage["metrics"] for stage in shown[1]["stages"]]
    for stage in ("01-rollout", "02-eval"):
        assert records(one, stage) == records(two, stage)
    lock = json.loads((two / "lock.json").read_text())
    assert (lock["recipe"]["seed"], lock["repeats"]) == (9, one.name)
    assert "warning" not in again.stderr
    third = aworld("run", two / "recipe.yaml", "--json")  # the resolved recipe is one
    assert json.loads(third.stdout)["stages"][1]["metrics"] == shown[0]["stages"][1]["metrics"]


def test_a_lock_repeats_from_anywhere(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    """Relative paths start where they did; the new run still lies below the place that one is in."""
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    aworld("run", teacher_recipe(tasks=1))
    lock = json.loads((runs(tmp_path)[0] / "lock.json").read_text())
    lock["directory"] = str(tmp_path / "there")
    (tmp_path / "moved.json").write_text(json.dumps(lock, indent=1))
    done = aworld("run", "moved.json")
    assert done.returncode == 0, done.stderr
    assert json.loads((runs(tmp_path)[1] / "lock.json").read_text())["directory"] == str(tmp_path / "there")


def test_what_is_installed_otherwise_is_told(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    aworld("run", teacher_recipe(tasks=1))
    lock = json.loads((runs(tmp_path)[0] / "lock.json").read_text())
    lock["distributions"] |= {"pluggy": "0.1", "no-such-package": "2.0"}
    (tmp_path / "old.json").write_text(json.dumps(lock))
    done = aworld("run", "old.json")
    assert done.returncode == 0
    now = version("pluggy")
    text = f"not all is as the lock has it: no-such-package: 2.0 -> not installed; pluggy: 0.1 -> {now}"
    assert f"warning: {text}\n" in done.stderr
    assert differences({"python": "3.1", "distributions": {}}, {}, "3.2") == ["Python: 3.1 -> 3.2"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema_version": 7}, "old.json: a lock of version 7"),
        ({"recipe": None}, "old.json: damaged: it holds no recipe"),
        ({"recipe": {"aworld": 1, "name": "x"}}, "old.json:1:"),
    ],
)
def test_a_lock_that_is_damaged(
    change: dict[str, Any], said: str, aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path
) -> None:
    aworld("run", teacher_recipe(tasks=1))
    lock = json.loads((runs(tmp_path)[0] / "lock.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps(lock | change))
    for command in (["run"], ["validate"], ["run", "--dry-run"]):
        done = aworld(*command, "old.json")
        assert (done.returncode, said in done.stderr) == (4, True), done.stderr
