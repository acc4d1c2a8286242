"""Metrics: unbiased pass@k, intervals that behave, parts that sum to what was selected."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld_cli.report.metrics import Tally, estimate_mean, pass_at_k


@given(st.integers(1, 9), st.data())
def test_pass_at_k_counts_subsets(n: int, data: st.DataObject) -> None:
    correct, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    marks = [True] * correct + [False] * (n - correct)
    subsets = list(itertools.combinations(marks, k))
    assert math.isclose(pass_at_k(n, correct, k), sum(map(any, subsets)) / len(subsets), abs_tol=1e-12)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.integers(1, 8))
def test_interval_holds_the_mean(values: list[float], per_value: int) -> None:
    found = estimate_mean(values, len(values) * per_value)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.n == len(values) * per_value


def test_interval_at_the_edges_is_not_empty() -> None:
    assert estimate_mean([0.0] * 100).high == pytest.approx(0.0370, abs=1e-3)  # Wilson for 0 of 100
    assert estimate_mean([1.0] * 100).low == pytest.approx(0.9630, abs=1e-3)


def test_interval_is_wilsons_for_single_samples() -> None:
    found = estimate_mean([1.0] * 40 + [0.0] * 60)
    assert (found.low, found.high) == (pytest.approx(0.3094, abs=2e-3), pytest.approx(0.4980, abs=2e-3))


def record(task: str, sample: int, outcome: str, correct: bool | None) -> dict[str, Any]:
    grade = None if outcome == "error" else {"reward": float(bool(correct)), "correct": correct}
    return {
        "episode": {"task": task, "hash": "h", "sample": sample},
        "outcome": outcome,
        "grade": grade,
        "turns": [{"tool_calls": 1, "tool_errors": 0, "prompt_tokens": 5, "completion_tokens": 2}],
    }


outcomes = st.sampled_from(["answered", "limit", "error", "cancelled", "missing"])


@given(st.lists(st.tuples(outcomes, st.booleans()), min_size=6, max_size=6))
def test_parts_sum_to_selected(ends: list[tuple[str, bool]]) -> None:
    tally = Tally([("a", "h"), ("b", "h"), ("c", "h")], 2)
    for index, (outcome, correct) in enumerate(ends):
        if outcome != "missing":
            tally.add(record("abc"[index // 2], index % 2, outcome, correct))
    counts = tally.counts()
    assert counts["selected"] == 6 == sum(counts[key] for key in counts if key != "selected")
    right = sum(correct and outcome in ("answered", "limit") for outcome, correct in ends)
    assert counts["correct"] == right
    assert tally.metrics([1])["pass@1"].value == pytest.approx(right / 6)


def test_a_later_record_replaces_an_earlier_one_and_strangers_are_ignored() -> None:
    tally = Tally([("a", "h")], 1)
    tally.add(record("a", 0, "error", None))
    tally.add(record("b", 0, "answered", True))
    tally.add(record("a", 5, "answered", True))
    assert tally.settled() == set()
    tally.add(record("a", 0, "answered", True))
    assert tally.settled() == {("a", "h", 0)}
    assert tally.counts() == {"selected": 1, "correct": 1, "wrong": 0, "limit": 0, "error": 0, "missing": 0}


def test_a_failure_of_infrastructure_is_not_a_reward_of_zero() -> None:
    tally = Tally([("a", "h"), ("b", "h")], 1)
    tally.add(record("a", 0, "answered", True))
    tally.add(record("b", 0, "error", None))
    metrics = tally.metrics([1])
    assert metrics["pass@1"].value == 0.5
    assert (metrics["reward"].value, metrics["reward"].n) == (1.0, 1)
    assert (metrics["tool_use"].value, metrics["tool_use"].n) == (1.0, 1)


def test_no_pass_at_k_where_nothing_says_what_is_correct() -> None:
    tally = Tally([("a", "h")], 1)
    tally.add({**record("a", 0, "answered", None), "grade": {"reward": 0.7, "correct": None}})
    metrics = tally.metrics([1])
    assert "pass@1" not in metrics and metrics["reward"].value == pytest.approx(0.7)
