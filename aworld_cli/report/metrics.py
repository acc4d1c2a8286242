"""Metrics over episodes. Every selected episode counts, whatever became of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_Z = 1.959963984540054  # the normal quantile of a two-sided 95 % interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; `n` is the number of episodes (or tasks x samples) behind it."""

    value: float
    low: float
    high: float
    n: int

    def to_json(self) -> dict[str, float | int]:
        return {
            "value": round(self.value, 6),
            "low": round(self.low, 6),
            "high": round(self.high, 6),
            "n": self.n,
        }


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Return the unbiased estimate of the chance that one of k samples is correct, from `correct` of n.

    1 - C(n-c, k) / C(n, k), Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1.
    """
    if not 1 <= k <= n:
        raise ValueError(f"k must lie between 1 and n ({n}), got {k}")
    if n - correct < k:
        return 1.0
    return 1.0 - math.prod((n - correct - i) / (n - i) for i in range(k))


def estimate_mean(values: Sequence[float], n: int | None = None) -> Estimate:
    """Return the mean of one figure in [0, 1] a task, and its 95 % interval.

    The interval is Wilson's with the effective sample size p(1-p)/SE^2, SE being that of the mean over tasks
    (Franco et al. 2019, "Comparative study of confidence intervals for proportions in complex sample surveys"):
    the samples of a task are not independent, and at 0 or 1 the interval must not be empty.

    Args:
        values: one mean a task.
        n: episodes behind all of them; one a task if absent.
    """
    count = len(values)
    n = count if n is None else n
    if count == 0:
        return Estimate(0.0, 0.0, 1.0, 0)
    mean = math.fsum(values) / count
    effective = float(count)
    if count > 1:
        variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count
        if variance > 0:
            effective = min(max(mean * (1 - mean) / variance, 1.0), float(n))
    centre = (mean + _Z**2 / (2 * effective)) / (1 + _Z**2 / effective)
    spread = mean * (1 - mean) / effective + _Z**2 / (4 * effective**2)
    half = _Z / (1 + _Z**2 / effective) * math.sqrt(max(spread, 0.0))
    low, high = min(max(centre - half, 0.0), mean), max(min(centre + half, 1.0), mean)
    return Estimate(mean, low, high, n)


@dataclass(slots=True)
class _Seen:
    outcome: str
    correct: bool | None
    reward: float | None
    tool_used: bool
    prompt_tokens: int
    completion_tokens: int
    tool_calls: int
    tool_errors: int


@dataclass(slots=True)
class Tally:
    """Counts the episodes of a stage from their journal records; of two records of one episode the later counts."""

    tasks: Sequence[tuple[str, str]]
    samples: int
    _seen: dict[tuple[str, str, int], _Seen] = field(default_factory=dict)
    _selected: frozenset[tuple[str, str]] = frozenset()

    def __post_init__(self) -> None:
        self._selected = frozenset(self.tasks)

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one record; one of an episode that is not selected is ignored."""
        episode = record["episode"]
        key = (episode["task"], episode["hash"], episode["sample"])
        if key[:2] not in self._selected or not 0 <= key[2] < self.samples:
            return
        grade = record.get("grade") or {}
        turns = record.get("turns") or []
        self._seen[key] = _Seen(
            outcome=record["outcome"],
            correct=grade.get("correct"),
            reward=grade.get("reward"),
            tool_used=any(turn["tool_calls"] for turn in turns),
            prompt_tokens=sum(turn["prompt_tokens"] for turn in turns),
            completion_tokens=sum(turn["completion_tokens"] for turn in turns),
            tool_calls=sum(turn["tool_calls"] for turn in turns),
            tool_errors=sum(turn["tool_errors"] for turn in turns),
        )

    def settled(self) -> set[tuple[str, str, int]]:
        """Return the episodes that need not be run again: those whose infrastructure did not fail."""
        return {key for key, seen in self._seen.items() if seen.outcome in ("answered", "limit")}

    def counts(self) -> dict[str, int]:
        """Return selected, correct, wrong, limit, error and missing; the last five sum to the first.

        An episode that met a limit and is still correct counts as correct; a grade that does not say counts as wrong.
        """
        selected = len(self.tasks) * self.samples
        counts = {"selected": selected, "correct": 0, "wrong": 0, "limit": 0, "error": 0, "missing": 0}
        for seen in self._seen.values():
            if seen.outcome == "cancelled":
                continue
            if seen.outcome == "error":
                counts["error"] += 1
            elif seen.correct:
                counts["correct"] += 1
            else:
                counts["limit" if seen.outcome == "limit" else "wrong"] += 1
        counts["missing"] = selected - sum(counts[key] for key in ("correct", "wrong", "limit", "error"))
        return counts

    def metrics(self, ks: Iterable[int]) -> dict[str, Estimate]:
        """Return pass@k for each k, the mean reward and the share of episodes that called a tool.

        pass@k counts every selected episode; one that failed or is missing is not correct. It is left out when no
        grade says what is correct. Reward and tool use are means over the graded episodes alone: a failure of
        infrastructure is not a reward of 0.
        """
        graded = [(key, seen) for key, seen in self._seen.items() if seen.outcome in ("answered", "limit")]
        found: dict[str, Estimate] = {}
        if not graded or any(seen.correct is not None for _, seen in graded):
            correct = dict.fromkeys(self.tasks, 0)
            for (task, digest, _), seen in graded:
                correct[task, digest] += bool(seen.correct)
            for k in ks:
                values = [pass_at_k(self.samples, count, k) for count in correct.values()]
                found[f"pass@{k}"] = estimate_mean(values, len(self.tasks) * self.samples)
        rewards: dict[tuple[str, str], list[float]] = {}
        used: dict[tuple[str, str], list[float]] = {}
        for (task, digest, _), seen in graded:
            rewards.setdefault((task, digest), []).append(seen.reward or 0.0)
            used.setdefault((task, digest), []).append(float(seen.tool_used))
        found["reward"] = estimate_mean([statistics.fmean(values) for values in rewards.values()], len(graded))
        found["tool_use"] = estimate_mean([statistics.fmean(values) for values in used.values()], len(graded))
        return found

    def totals(self) -> dict[str, int]:
        """Return sums over the recorded episodes: episodes, prompt and completion tokens, tool calls and errors."""
        seen = self._seen.values()
        return {
            "episodes": len(seen),
            "prompt_tokens": sum(item.prompt_tokens for item in seen),
            "completion_tokens": sum(item.completion_tokens for item in seen),
            "tool_calls": sum(item.tool_calls for item in seen),
            "tool_errors": sum(item.tool_errors for item in seen),
        }
