"""A fault in a plugin's code is exit code 5 and one line that names the plugin; --debug shows where it lies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import AddPlugin, Aworld

SOURCE = """
from aworld_cli.host import Command, Component, hookimpl
from pydantic import BaseModel, field_validator
aworld_api = 1
@hookimpl
def aworld_components():
    kinds = ("environment", "tool", "trainer")
    return [Component(kind, "mine", "mine", __name__ + ":" + kind, __name__ + ":Config") for kind in kinds]
@hookimpl
def aworld_commands():
    return [Command("mine", "mine", __name__ + ":app")]
class Config(BaseModel):
    fault: str = ""
    @field_validator("fault")
    @classmethod
    def check(cls, value):
        if value.startswith("sure: x"):
            raise ValueError(f"the fault {value!r} is none")
        return {}[value] if value == "option" or value.startswith("sure") else value
    def model_dump(self, **options):
        return {}[1] if self.fault == "dump" else super().model_dump(**options)
class Task:
    def __init__(self, id):
        self.id = id
class Environment:
    name = "mine"
    def __init__(self, fault):
        self.fault = fault
    def splits(self):
        print("a plugin prints")
        return 1 / 0 if self.fault == "splits" else ["test", "train"]
    def tasks(self, split, limit):
        if self.fault == "tasks":
            raise SystemExit("no tasks")
        return None if self.fault == "none" else [Task("t1"), Task("t1" if self.fault == "twice" else "t2")]
def environment(config):
    print("a plugin prints")
    if config.fault == "factory":
        raise RuntimeError("broken\\ninside")
    if config.fault == "expected":
        from aworld_cli.errors import MachineError
        raise MachineError("no data set here")
    return Environment(config.fault)
def tool(config):
    return object()
class Trainer:
    def check(self, plan, tasks):
        return {}
    def preview(self, plan):
        print("a plugin prints")
        return {"path": __import__("pathlib").Path("x")} if not self.fault else 1 / 0
def trainer(config):
    made = Trainer()
    made.fault = config.fault
    return made
import typer
app = typer.Typer()
@app.command()
def works():
    print("result")
@app.command()
def fails():
    raise KeyError("oops")
@app.command()
def stops():
    raise typer.Exit(7)
"""

RECIPE = """\
aworld: 1
name: test
model: {{kind: local, create: {{}}}}
tools: [{tools}]
environment: {{kind: mine, fault: "{fault}"}}
stages:
  - eval: {{split: test}}
  - train: {{kind: mine, fault: "{trainer}"}}
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, add_plugin: AddPlugin) -> Write:
    add_plugin("mine", SOURCE)

    def written(fault: str = "", tools: str = "", trainer: str = "") -> Path:
        path = tmp_path / "r.yaml"
        path.write_text(RECIPE.format(fault=fault, tools=tools, trainer=trainer))
        return path

    return written


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('fault: ""', 'fault: "${env:HIDDEN}"'),  # its validator raises ValueError with the value in its text
        ('fault: ""', 'fault: "sure: ${env:HIDDEN}"'),  # it raises KeyError
        ("kind: mine, fault", 'kind: "${env:HIDDEN}", fault'),
        ("tools: []", 'tools: [{kind: "x/${env:HIDDEN}"}]'),
    ],
)
def test_no_error_says_the_value_of_a_variable(
    old: str, new: str, write: Write, aworld: Aworld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN", "sure: x4711")
    recipe = write()
    recipe.write_text(recipe.read_text().replace(old, new, 1))
    for command in (["validate"], ["validate", "--json"], ["config"], ["--debug", "run", "--dry-run"]):
        done = aworld(*command, recipe)
        assert done.returncode in (4, 5), command
        assert "${env:HIDDEN}" in done.stdout + done.stderr
        assert "x4711" not in done.stdout + done.stderr.rpartition("Traceback")[2]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"fault": "factory"},
            "environment 'mine' of aworld-mine failed while being made: RuntimeError: broken inside",
        ),
        (
            {"fault": "option"},
            "environment 'mine' of aworld-mine failed while checking its options: KeyError: 'option'",
        ),
        ({"fault": "splits"}, "environment 'mine' of aworld-mine failed while listing its splits: ZeroDivisionError"),
        ({"fault": "tasks"}, "failed while listing the tasks of its split 'test': SystemExit: no tasks"),
        ({"fault": "none"}, "failed while listing the tasks of its split 'test': TypeError"),
        ({"fault": "twice"}, "environment 'mine' of aworld-mine has two tasks with the id 't1' in its split 'test'"),
        ({"tools": "{kind: mine}"}, "tool 'mine' of aworld-mine made a object, not a StdioServer"),
    ],
)
def test_a_fault_of_a_component(
    options: dict[str, str], said: str, write: Write, aworld: Aworld, tmp_path: Path
) -> None:
    recipe = write(**options)
    for command in (["validate"], ["run", "--dry-run", "--json"], ["run", "--json"]):
        done = aworld(*command, recipe)
        assert (done.returncode, done.stdout) == (5, ""), command
        assert said in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trainer": "x"}, "trainer 'mine' of aworld-mine failed while describing what it would do: ZeroDivisionError"),
        ({"fault": "dump"}, "environment 'mine' of aworld-mine failed while showing its options: KeyError"),
    ],
)
def test_a_fault_in_the_preview(options: dict[str, str], said: str, write: Write, aworld: Aworld) -> None:
    done = aworld("run", "--dry-run", write(**options))
    assert (done.returncode, done.stdout) == (5, "") and said in done.stderr


def test_debug_shows_where_the_fault_lies_and_keeps_the_exit_code(write: Write, aworld: Aworld) -> None:
    for command in ("run", "validate"):
        done = aworld(command, write("factory"), "--debug")
        assert done.returncode == 5
        assert 'raise RuntimeError("broken' in done.stderr and "error: environment 'mine'" in done.stderr


def test_an_error_that_a_plugin_means_stays_its_own(write: Write, aworld: Aworld) -> None:
    done = aworld("validate", write("expected"))
    assert (done.returncode, done.stderr) == (6, "a plugin prints\nerror: no data set here\n")


def test_what_a_plugin_prints_does_not_reach_the_result(write: Write, aworld: Aworld) -> None:
    done = aworld("run", "--dry-run", "--json", write())
    shown = json.loads(done.stdout)
    assert shown["stages"][0]["tasks"] == 2 and shown["stages"][1]["path"] == "x"
    assert "a plugin prints" in done.stderr
    done = aworld("validate", write())
    assert done.stdout.endswith("r.yaml: ok\n") and done.stdout.count("\n") == 1


def test_a_plugins_command_that_fails(write: Write, aworld: Aworld) -> None:
    write()
    assert aworld("mine", "works").stdout == "result\n"
    assert aworld("mine", "stops").returncode == 7
    assert aworld("mine", "works", "--nope").returncode == 2
    done = aworld("mine", "fails")
    assert done.returncode == 5
    assert done.stderr == "error: the command 'mine' of aworld-mine failed: KeyError: 'oops'\n"


BROKEN_AT_RUN = """
from aworld_cli.environment import Task
from aworld_cli.host import Component, hookimpl
from pydantic import BaseModel
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("environment", "mine", "mine", __name__ + ":make", __name__ + ":Config")]
class Config(BaseModel):
    pass
class Environment:
    name = "mine"
    def splits(self):
        return ["test"]
    def tasks(self, split, limit):
        return [Task("t", TASK)]
    def grade(self, task, answer, messages):
        raise AssertionError
    CORPUS = lambda self: []
def make(config):
    return Environment()
"""


@pytest.mark.parametrize(
    ("task", "corpus", "said"),
    [
        (
            '"text"',
            "corpus",
            "environment 'mine' of aworld-mine failed while giving the tasks of its split 'test' a hash",
        ),
        ("()", "other", "environment 'mine' of aworld-mine has no corpus"),
    ],
)
def test_an_environment_that_breaks_its_contract_when_it_runs(
    task: str, corpus: str, said: str, aworld: Aworld, add_plugin: AddPlugin, tmp_path: Path
) -> None:
    add_plugin("mine", BROKEN_AT_RUN.replace("TASK)]", f"{task})]").replace("CORPUS", corpus))
    recipe = "aworld: 1\nname: x\nmodel: {kind: scripted, replies: [a]}\nenvironment: {kind: mine}\n"
    (tmp_path / "r.yaml").write_text(recipe + "stages: [{eval: {split: test}}]\n")
    done = aworld("run", "r.yaml")
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (5, True, False), done.stderr
