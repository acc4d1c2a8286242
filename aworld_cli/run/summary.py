"""`summary.json`: what each stage came to, in the order they ran."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from aworld_cli.run.directory import SCHEMA_VERSION

Status = Literal["running", "done", "stopped", "failed"]
#: What the counts of a stage sum to `selected` from.
PARTS = ("correct", "wrong", "limit", "error", "missing")


@dataclass(frozen=True, slots=True)
class StageSummary:
    """One stage. `counts` sum to `selected`; `metrics` hold value, low, high and n; `totals` are plain sums.

    `rescored` holds, newest last, what `aworld runs rescore` changed and the counts and metrics before it; a stage that
    is run again has none.
    """

    name: str
    kind: str
    seconds: float
    counts: dict[str, int] = field(default_factory=dict)
    metrics: dict[str, dict[str, float | int]] = field(default_factory=dict)
    totals: dict[str, float] = field(default_factory=dict)
    samples: int = 1
    checkpoint: str | None = None
    model: str | None = None
    rescored: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "seconds": round(self.seconds, 3),
            "counts": self.counts,
            "metrics": self.metrics,
            "totals": self.totals,
            "samples": self.samples,
            "checkpoint": self.checkpoint,
            "model": self.model,
            **({"rescored": self.rescored} if self.rescored else {}),
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> StageSummary:
        """Read what `to_json` returned. Raises TypeError or KeyError when it is something else."""
        given = {"rescored": [], **value}
        # what was not finite is null on disk
        totals = {key: math.nan if total is None else total for key, total in _mapping(given["totals"]).items()}
        given["totals"] = totals
        summary = StageSummary(**{key: given[key] for key in StageSummary.__dataclass_fields__})
        for name in ("name", "kind", "checkpoint", "model"):
            if not isinstance(given[name], str if name in ("name", "kind") else str | None):
                raise TypeError(f"{name} is no text")
        if not _is_whole(summary.samples) or summary.samples < 1 or not isinstance(summary.rescored, list):
            raise TypeError("samples or rescored")
        if not _are_numbers([summary.seconds, *totals.values()]):
            raise TypeError("seconds or totals")
        for results in (value, *(entry["before"] for entry in summary.rescored)):
            _check_results(results["counts"], results["metrics"], summary.kind)
        return summary

    @property
    def errors(self) -> int:
        """Episodes that ended in an infrastructure error or never ran."""
        return self.counts.get("error", 0) + self.counts.get("missing", 0)


def _check_results(counts: Any, metrics: Any, kind: str) -> None:
    """Raise TypeError or KeyError when these are not a stage's counts and metrics."""
    if not all(map(_is_whole, _mapping(counts).values())):
        raise TypeError("counts")
    if kind in ("rollout", "eval") and counts["selected"] != sum(counts[part] for part in PARTS):
        raise TypeError("counts do not sum to selected")
    if kind in ("rollout", "eval") and not _mapping(metrics).keys() >= {"reward", "tool_use"}:
        raise KeyError("reward and tool_use")
    for name, metric in _mapping(metrics).items():
        if not _are_numbers([_mapping(metric)[key] for key in ("value", "low", "high", "n")]):
            raise TypeError(f"the metric {name}")


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"a mapping is expected, not {type(value).__name__}")
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def run_summary(run: str, status: Status, stages: list[StageSummary], seconds: float) -> dict[str, Any]:
    """Return what `summary.json` holds."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run,
        "status": status,
        "seconds": round(seconds, 3),
        "stages": [stage.to_json() for stage in stages],
    }
