"""The closing tables fit an ordinary terminal."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from aworld_cli.report.tables import closing_tables, short, stage_line
from aworld_cli.run.summary import StageSummary
from aworld_cli.trajectory.journal import finite

COUNTS = {"selected": 2048, "correct": 1014, "wrong": 1033, "limit": 1, "error": 0, "missing": 0}
FIGURE = {"value": 0.4954, "low": 0.4721, "high": 0.5188, "n": 2048}


def render(summaries: list[StageSummary]) -> str:
    console = Console(file=io.StringIO(), width=80)
    for table in closing_tables(summaries):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def summary(name: str, kind: str, metrics: dict[str, dict[str, float | int]]) -> StageSummary:
    totals = {"episodes": 2048, "completion_tokens": 18_000}
    return StageSummary(name, kind, 4.4, COUNTS if kind != "sft" else {}, metrics, totals, samples=4)


def test_nothing_is_cut_at_80_columns() -> None:
    metrics = {"pass@1": FIGURE, "pass@4": FIGURE, "reward": FIGURE, "tool_use": FIGURE}
    shown = render([summary("eval-grpo", "eval", metrics), summary("sft", "sft", {})])
    assert "…" not in shown
    assert "eval-grpo   512 x 4   49.5 [47.2, 51.9]   49.5 [47.2, 51.9]         49.5" in shown
    assert "2,048     1,014   1,033" in shown


def test_an_evaluation_without_correct_answers_shows_its_reward() -> None:
    shown = render([summary("judged", "eval", {"reward": FIGURE, "tool_use": FIGURE})])
    assert "reward" in shown and "0.495" in shown and "pass@" not in shown


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5442, "0.544"), (3.0, "3"), (98.76, "98.8"), (4563.2, "4,563"), (float("nan"), "nan"), (float("inf"), "inf")],
)
def test_figures_for_people(value: float, text: str) -> None:
    assert short(value) == text


def test_a_figure_that_was_not_finite_is_read_back_and_shown() -> None:
    made = StageSummary("sft", "sft", 1.0, totals={"steps": 2, "loss": math.nan}, checkpoint="c")
    read = StageSummary.from_json(json.loads(json.dumps(finite(made.to_json()))))
    assert "loss nan" in stage_line(read)
