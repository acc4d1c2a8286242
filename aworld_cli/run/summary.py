"""`summary.json`: what each stage came to, in the order they ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from aworld_cli.run.directory import SCHEMA_VERSION

Status = Literal["running", "done", "stopped", "failed"]


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
        summary = StageSummary(**{key: given[key] for key in StageSummary.__dataclass_fields__})
        kinds = {"counts": dict, "metrics": dict, "totals": dict, "name": str, "kind": str, "rescored": list}
        for name, kind in kinds.items():
            if not isinstance(getattr(summary, name), kind):
                raise TypeError(f"{name} is no {kind.__name__}")
        return summary

    @property
    def errors(self) -> int:
        """Episodes that ended in an infrastructure error or never ran."""
        return self.counts.get("error", 0) + self.counts.get("missing", 0)


def run_summary(run: str, status: Status, stages: list[StageSummary], seconds: float) -> dict[str, Any]:
    """Return what `summary.json` holds."""
    return {
        "schema_version": SCHEMA_VERSION,
        "run": run,
        "status": status,
        "seconds": round(seconds, 3),
        "stages": [stage.to_json() for stage in stages],
    }
