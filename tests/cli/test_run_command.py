"""What `aworld run` does around a run: its inputs, what it writes first, what it never writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from aworld_cli.run.lock import without_values
from tests.conftest import AddPlugin, Aworld

Recipe = Callable[..., Path]


def only_run(tmp_path: Path, directory: str = "runs") -> Path:
    (run,) = (tmp_path / directory).iterdir()
    return run


def test_a_recipe_may_come_from_a_pipe_and_is_kept_as_it_was_read(
    teacher_recipe: Recipe, tmp_path: Path, aworld: Aworld
) -> None:
    text = teacher_recipe(tasks=1).read_text() + "# kept\r\n"
    os.mkfifo(tmp_path / "pipe.yaml")
    with subprocess.Popen([sys.executable, "-c", f"open('pipe.yaml', 'w', newline='').write({text!r})"], cwd=tmp_path):
        done = aworld("run", "pipe.yaml", timeout=60)
    assert done.returncode == 0, done.stderr
    assert (only_run(tmp_path) / "recipe.yaml").read_bytes() == text.encode()


def test_a_full_disk_is_something_the_machine_lacks(teacher_recipe: Recipe, tmp_path: Path) -> None:
    command = f"ulimit -f 0; exec {sys.executable} -B -m aworld_cli run {teacher_recipe()}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 6, done.stderr
    assert "recipe.yaml: cannot be written: File too large" in done.stderr and "Traceback" not in done.stderr
    assert list((tmp_path / "runs").iterdir()) == []  # without a lock it could be neither resumed nor removed


@pytest.mark.parametrize(
    ("redirection", "code", "said"),
    [
        ("<&- 2>&-", 0, ""),
        (">&-", 0, "selected 1"),
        ("2>/dev/full", 0, ""),
        (">/dev/full", 6, "cannot be written to standard output: No space left on device"),
        ("2>&1 >/dev/null | true; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_standard_streams_that_are_closed_or_full(
    redirection: str, code: int, said: str, teacher_recipe: Recipe, tmp_path: Path
) -> None:
    command = f"{sys.executable} -m aworld_cli run {teacher_recipe(tasks=1)} {redirection}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr
    assert json.loads((only_run(tmp_path) / "summary.json").read_text())["status"] == "done"


def test_no_value_of_a_setting_is_on_disk_but_in_the_recipe(
    teacher_recipe: Recipe, tmp_path: Path, aworld: Aworld
) -> None:
    done = aworld("run", teacher_recipe(tasks=1), "--set", "seed=7331", "--set=name=other", "--max-errors", "3")
    assert done.returncode == 0, done.stderr
    lock = json.loads((only_run(tmp_path) / "lock.json").read_text())
    assert (lock["recipe"]["seed"], lock["recipe"]["name"]) == (7331, "other")
    assert "settings" not in lock
    assert lock["command"][-5:] == ["--set", "seed=...", "--set=name=...", "--max-errors", "3"]


def test_values_are_cut_off_a_command_line() -> None:
    given = ["run", "--set", "--set", "--set=a=b=c", "--set", "x.y=1\nz", "--set"]
    assert without_values(given) == ["run", "--set", "--set=...", "--set=a=...", "--set", "x.y=...", "--set"]


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_run_that_has_begun_cannot_be_changed(more: list[str], teacher_recipe: Recipe, aworld: Aworld) -> None:
    aworld("run", teacher_recipe(tasks=1))
    done = aworld("run", "--resume", "runs", "--set", "seed=1", *more)
    assert done.returncode == 2 and "--set cannot change a run that has begun" in done.stderr


def test_the_plan_of_a_run_that_has_begun(teacher_recipe: Recipe, aworld: Aworld, tmp_path: Path) -> None:
    aworld("run", teacher_recipe(tasks=1))
    done = aworld("run", "--resume", only_run(tmp_path), "--dry-run", "--json")
    assert json.loads(done.stdout)["recipe"] == "teacher"
    done = aworld("run", "--resume", "site", "--dry-run")
    assert done.returncode == 2 and "no run is called 'site'" in done.stderr


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("stages.eval.split=dev", "--set stages.eval.split: stages[1].eval.split: the environment has no split 'dev'"),
        ("stages.eval.split=tests", "it has train, test; did you mean 'test'?"),
        ("stages.eval.tasks=20000", "stages[1].eval.tasks: 20000 tasks are asked for, the split 'test' has 10000"),
        ("tools=[{kind: calculator}, {kind: calculator}]", "tools[1]: two tool servers are called 'calculator'"),
    ],
)
def test_the_three_commands_agree(
    setting: str, said: str, teacher_recipe: Recipe, aworld: Aworld, tmp_path: Path
) -> None:
    recipe = teacher_recipe()
    for command in (["validate"], ["run", "--dry-run"], ["run"]):
        done = aworld(*command, recipe, "--set", setting)
        assert (done.returncode, done.stdout) == (4, ""), command
        assert said in done.stderr
        assert "--resume" not in done.stderr
    assert not (tmp_path / "runs").exists()


FAILING = """
from aworld_cli.host import Component, hookimpl
from aworld_cli import errors
from pydantic import BaseModel
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("model", "mine", "mine", __name__ + ":model", __name__ + ":Config")]
class Config(BaseModel):
    error: str
class Model:
    name = "mine"
    def __init__(self, error):
        self.error = error
    async def start(self):
        print("a plugin prints")
        raise getattr(errors, self.error)("it fails")
    async def close(self):
        pass
    async def complete(self, request):
        pass
def model(config, context):
    return Model(config.error)
"""


@pytest.mark.parametrize(
    ("error", "code", "hint"),
    [("MachineError", 6, True), ("TooManyErrors", 1, True), ("Stopped", 3, True), ("RecipeError", 4, False)],
)
def test_the_hint_to_resume_stands_only_where_resuming_helps(
    error: str, code: int, hint: bool, teacher_recipe: Recipe, aworld: Aworld, add_plugin: AddPlugin
) -> None:
    add_plugin("mine", FAILING)
    done = aworld("run", teacher_recipe(tasks=1), "--set", f"model={{kind: mine, error: {error}}}", "--set", "tools=[]")
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "error: it fails" in done.stderr and "a plugin prints" in done.stderr
    assert ("--resume" in done.stderr) is hint


@pytest.mark.parametrize("module", ["typer", "pluggy", "pydantic"])
def test_an_interrupt_during_imports_shows_no_traceback(module: str, aworld: Aworld, tmp_path: Path) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / f"{module}.py").write_text("raise KeyboardInterrupt")
    done = aworld("plugins", env={"PYTHONPATH": str(tmp_path / "shadow")})
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_an_interrupt_while_plugins_load(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("mine", "raise KeyboardInterrupt")
    for arguments in (["plugins"], ["--help"]):
        done = aworld(*arguments)
        assert done.returncode == 130 and "Traceback" not in done.stderr
