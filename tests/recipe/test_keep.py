"""The expression language of `keep`."""

from __future__ import annotations

from typing import Any

import pytest

from aworld_cli.recipe.keep import FIELDS, compile_keep
from aworld_cli.trajectory.record import EpisodeId, Trajectory

RECORD: dict[str, Any] = {
    "grade": {"correct": True, "reward": 0.5, "details": {"got": "1"}},
    "outcome": "answered",
    "seconds": 2.5,
    "limit": None,
    "turns": [{"tool_calls": 1}, {"tool_calls": 2}],
}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("grade.correct", True),
        ("not grade.correct", False),
        ("grade.reward >= 0.5 and seconds < 3", True),
        ("0 < grade.reward < 0.5", False),
        ("outcome in ['answered', 'limit']", True),
        ("limit == null", True),
        ("grade.details.missing > 3", False),
        ("grade.details.got == '1'", True),
        ("extra.step > 3", False),
        ("outcome != 'answered' or -1 < grade.reward", True),
        ("turns <= 2", True),
        ("turns == 2 and tool_calls == 3", True),
        ("turns < 2", False),
        ("limit > 3 or grade.correct", True),  # what cannot be compared costs its comparison, not the expression
        ("not limit > 3 and not 'x' in limit", True),
        ("-limit == null", True),
    ],
)
def test_keep(text: str, kept: bool) -> None:
    assert compile_keep(text)(RECORD) is kept


@pytest.mark.parametrize(
    "text", ["f()", "grade['x']", "1 +", "(lambda: 1)", "a if b else c", "x.y()", "f'{a}'", "a" * 3000, "1 is 1", "\0"]
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expression|allowed"):
        compile_keep(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turn <= 2", "no field 'turn'; did you mean 'turns'?"),
        ("grade.correct and toolcalls > 1", "no field 'toolcalls'; did you mean 'tool_calls'?"),
        ("reward > 0", "no field 'reward'"),
        ("grade.corect", "'grade' has no field 'corect'; did you mean 'correct'?"),
        ("turns.tool_calls > 1", "'turns' has no parts"),
    ],
)
def test_a_misspelt_field_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:
        compile_keep(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["not " * 400 + "1", "-" * 1500 + "1", "error" + ".a" * 800, "f(" * 150 + ")" * 150])
def test_deep_nesting_is_refused_and_never_crashes(text: str) -> None:
    with pytest.raises(ValueError):
        compile_keep(text)


def test_the_known_fields_are_those_of_records() -> None:
    record = Trajectory(EpisodeId("t", "h", 0), "answered", "m", 0, extra={"step": 1}).to_json()
    assert set(record) | {"tool_calls"} == FIELDS
