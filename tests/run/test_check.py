"""`check_plan`: what a plan needs of its environment and its tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.environment.base import Task
from aworld_cli.errors import PluginError, RecipeError
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.loading import load_plan
from aworld_cli.recipe.plan import Plan
from aworld_cli.run.check import check_plan, select_tasks
from tests.conftest import Aworld

RECIPE = """\
aworld: 1
name: test
model: {kind: local, create: {}}
tools: [{kind: stdio, command: one}, {kind: stdio, command: two, name: NAME}]
environment: {kind: arithmetic}
stages:
  - rollout: {split: train}
  - eval: {split: test, tasks: 2}
  - sft: {from: rollout}
"""


class Tasks:
    """An environment that has just these tasks."""

    def __init__(self, **splits: Sequence[str]) -> None:
        self.known = splits

    def splits(self) -> Sequence[str]:
        return list(self.known)

    def tasks(self, split: str, limit: int | None) -> list[Task]:
        return [Task(name, ()) for name in self.known[split]][:limit]


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    path = tmp_path / "r.yaml"
    path.write_text(RECIPE)
    return load_plan(path, Registry(load_plugins()))


def check(plan: Plan, **splits: Sequence[str]) -> dict[str, list[Task]]:
    environment: Any = Tasks(**splits)
    return check_plan(plan, environment)


def test_the_tasks_of_each_stage_that_has_some(plan: Plan) -> None:
    found = check(plan, train="abc", test="defg")
    assert {name: [task.id for task in tasks] for name, tasks in found.items()} == {
        "rollout": ["a", "b", "c"],
        "eval": ["d", "e"],
    }
    environment: Any = Tasks(train="abc", test="defg")
    assert select_tasks(plan, plan.stages[1], environment) == found["eval"]


def test_all_problems_come_at_once_with_their_places(plan: Plan) -> None:
    with pytest.raises(RecipeError) as caught:
        check(plan, train="", test="d")
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert "r.yaml:7:5: stages[0].rollout.tasks: the split 'train' has no tasks" in lines[0]
    assert "r.yaml:8:25: stages[1].eval.tasks: 2 tasks are asked for, the split 'test' has 1" in lines[1]


def test_an_unknown_split(plan: Plan) -> None:
    with pytest.raises(
        RecipeError, match=r"r\.yaml:8:12: stages\[1\]\.eval\.split: the environment has no split 'test'"
    ):
        check(plan, train="a", testing="b")


def test_two_tasks_with_one_id_are_the_environments_fault(plan: Plan) -> None:
    with pytest.raises(
        PluginError, match=r"environment 'arithmetic' of aworld-arithmetic has two tasks with the id 'a'"
    ):
        check(plan, train="aba", test="cd")


def test_two_tool_servers_with_one_name(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(RECIPE.replace("NAME", "one"))
    plan = load_plan(path, Registry(load_plugins()))
    with pytest.raises(RecipeError, match=r"r\.yaml:4:38: tools\[1\]: two tool servers are called 'one'"):
        check(plan, train="a", test="bc")


QUICKSTART = Path(__file__).parents[2] / "recipes" / "quickstart.yaml"


@pytest.mark.parametrize(
    ("setting", "code", "text"),
    [
        ("stages.grpo.overrides={trainer.nope: 1}", 4, "train.overrides: verl has no setting 'trainer.nope'; did you"),
        ("environment.size=8", 4, "stages[4].train.batch: a batch of 16 tasks is asked for, the stage has 8"),
        ("sampling.max_tokens=400", 4, "train.response_length: sampling.max_tokens (400) is more than 48"),
        ("sampling.temperature=0", 4, "the episodes of a group would all be the same"),
        ("stages.grpo.mini_batch=5", 4, "batch (16) must be a multiple of mini_batch (5)"),
        (
            "model={kind: arithmetic-teacher}",
            4,
            "arithmetic-teacher has no weights of its own, which 'sft' would train",
        ),
        ("model={kind: local, path: ./nothere}", 6, "--set model: model: ./nothere: no Hugging Face model there"),
    ],
)
def test_what_a_trainer_or_a_model_cannot_do_is_told_before_anything_starts(
    setting: str, code: int, text: str, aworld: Aworld, tmp_path: Path
) -> None:
    for command in (["run", str(QUICKSTART)], ["run", str(QUICKSTART), "--dry-run"]):
        done = aworld(*command, "--set", setting)
        assert (done.returncode, text in done.stderr) == (code, True), done.stderr
    assert not (tmp_path / "runs").exists()
