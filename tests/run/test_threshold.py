"""`--min-score`: what it compares, what it says, and that a wrong one costs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aworld_cli.errors import AWorldError, UsageError
from aworld_cli.recipe.plan import PlannedStage
from aworld_cli.recipe.schema import EvalStage, RolloutStage, Stage, TrainStage
from aworld_cli.run.summary import StageSummary
from aworld_cli.run.threshold import Threshold, read_threshold
from tests.conftest import Aworld


def planned(*given: tuple[str, Stage]) -> list[PlannedStage]:
    return [PlannedStage(number, "x", name, spec) for number, (name, spec) in enumerate(given, 1)]


STAGES = planned(
    ("eval-base", EvalStage(split="test", samples=4, k=(1, 4))),
    ("teacher", RolloutStage(split="train")),
    ("train", TrainStage(kind="verl")),
    ("eval-grpo", EvalStage(split="test", samples=8, k=(1, 8))),
)


@pytest.mark.parametrize(
    ("text", "threshold"),
    [
        ("0.8", Threshold("eval-grpo", "pass@1", 0.8)),
        ("pass@8=0.5", Threshold("eval-grpo", "pass@8", 0.5)),
        ("reward=1", Threshold("eval-grpo", "reward", 1.0)),
        ("eval-base:0", Threshold("eval-base", "pass@1", 0.0)),
        ("eval-base:pass@4=.25", Threshold("eval-base", "pass@4", 0.25)),
        ("teacher:tool_use=1e-1", Threshold("teacher", "tool_use", 0.1)),
    ],
)
def test_what_it_can_say(text: str, threshold: Threshold) -> None:
    assert read_threshold(text, STAGES) == threshold


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "write VALUE"),
        ("a=b=c", "write VALUE"),
        ("80", "from 0 to 1, got '80'"),
        ("-0.1", "from 0 to 1"),
        ("nan", "from 0 to 1"),
        ("good", "from 0 to 1, got 'good'"),
        ("pass@4=0.5", "'eval-grpo' will have no 'pass@4'; its k are 1, 8"),
        ("rewards=0.5", "did you mean 'reward'"),
        ("eval-grop:0.5", "did you mean 'eval-grpo'"),
        ("train:0.5", "no stage that has a score is called 'train'"),
    ],
)
def test_what_it_cannot_say(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_threshold(text, STAGES)
    assert said in str(caught.value)


def test_a_recipe_without_an_evaluation() -> None:
    with pytest.raises(UsageError, match="no stage that evaluates; name a stage"):
        read_threshold("0.5", STAGES[1:2])
    assert read_threshold("teacher:0.5", STAGES[1:2]).stage == "teacher"


def summary(value: float) -> StageSummary:
    figure = {"value": value, "low": 0.25, "high": 0.75, "n": 12}
    return StageSummary("eval", "eval", 1.0, metrics={"pass@1": figure, "reward": figure}, samples=4)


def test_the_figure_and_its_interval_are_told() -> None:
    good, text = Threshold("eval", "pass@1", 0.5).judge([summary(0.5)])
    assert (good, text) == (True, "eval: pass@1 (n=4) 50.0 % [25.0, 75.0] reaches --min-score 50 %")
    good, text = Threshold("eval", "reward", 0.55).judge([summary(0.5)])
    assert (good, text) == (False, "eval: reward 50.0 % [25.0, 75.0] is below --min-score 55 %")
    assert Threshold("eval", "pass@1", 2 / 3).judge([summary(round(2 / 3, 6))])[0]


def test_a_figure_that_no_grade_defines() -> None:
    with pytest.raises(AWorldError, match="eval has no pass@4, since no grade says what is correct; it has: pass@1, r"):
        Threshold("eval", "pass@4", 0.5).judge([summary(0.5)])


def test_on_the_command_line(aworld: Aworld, teacher_recipe: Callable[..., Path], tmp_path: Path) -> None:
    recipe = teacher_recipe(tasks=2)
    half = ["--set", "model={kind: arithmetic-teacher, accuracy: 0, tool_share: 0}", "--set", "tools=[]"]
    done = aworld("run", recipe, *half, "--min-score", "0.5", "--json")
    assert done.returncode == 1 and "error: eval: pass@1 (n=2) 0.0 % [0.0, " in done.stderr
    assert json.loads(done.stdout)["status"] == "done" and "--resume" not in done.stderr
    (run,) = (tmp_path / "runs").iterdir()
    again = aworld("run", "--resume", run, "--min-score", "eval:pass@2=0")
    assert again.returncode == 0 and "eval: pass@2 (n=2) 0.0 %" in again.stderr
    for command in (["run", recipe], ["run", recipe, "--dry-run"], ["run", "--resume", run]):
        done = aworld(*command, "--min-score", "evl:0.5")
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "did you mean 'eval'" in done.stderr
    assert len([*(tmp_path / "runs").iterdir()]) == 1
