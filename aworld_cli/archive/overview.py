"""What a run's journals tell beyond its summary: errors by kind, limits met, the slowest episodes."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aworld_cli.archive.store import StoredRun, StoredStage
from aworld_cli.run.summary import PARTS
from aworld_cli.trajectory.stored import SETTLED, StoredEpisodes

_SLOWEST = 5


@dataclass(frozen=True, slots=True)
class Row:
    """An episode in one line; `verdict` is correct, wrong, limit, error or cancelled, as in the counts."""

    stage: str
    task: str
    sample: int
    outcome: str
    verdict: str
    reward: float | None
    turns: int
    seconds: float
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__dataclass_fields__}


@dataclass(slots=True)
class StageOverview:
    """What one stage's records come to. `counts` sum to `selected`, which is None where it is not known yet."""

    stage: StoredStage
    counts: dict[str, int | None] = field(default_factory=dict)
    metrics: dict[str, dict[str, float | int]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    slowest: list[Row] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    torn: bool = False

    @property
    def status(self) -> str:
        """`done`, `unfinished` (it has begun), or `not begun`."""
        if self.stage.summary is not None:
            return "done"
        return "unfinished" if self.stage.path.is_dir() else "not begun"

    def to_json(self) -> dict[str, Any]:
        """Return the stage as `aworld runs show --json` writes it."""
        summary = self.stage.summary
        return {
            "name": self.stage.name,
            "kind": self.stage.kind,
            "status": self.status,
            "seconds": None if summary is None else summary.seconds,
            "model": None if summary is None else summary.model,
            "samples": None if summary is None else summary.samples,
            "counts": self.counts,
            "metrics": self.metrics,
            "totals": {} if summary is None else summary.totals,
            "checkpoint": None if summary is None else summary.checkpoint,
            "errors": dict(self.errors.most_common()),
            "limits": dict(self.limits.most_common()),
            "slowest": [row.to_json() for row in self.slowest],
            "rescored": self.stage.rescored,
            "damaged_lines": self.damaged,
        }


def rows(stage: StoredStage, episodes: StoredEpisodes) -> Iterator[Row]:
    """Yield a row for each episode on record."""
    for record in episodes:
        error = record.get("error") or {}
        yield Row(
            stage=stage.name,
            task=record["episode"]["task"],
            sample=record["episode"]["sample"],
            outcome=record["outcome"],
            verdict=verdict(record),
            reward=(record.get("grade") or {}).get("reward"),
            turns=len(record.get("turns") or ()),
            seconds=float(record.get("seconds") or 0.0),
            reason=str(record.get("limit") or error.get("kind") or ""),
        )


def verdict(record: Mapping[str, Any]) -> str:
    """Return the part of the counts in which an episode stands (see `Tally.counts`)."""
    if record["outcome"] not in SETTLED:
        return str(record["outcome"])
    if (record.get("grade") or {}).get("correct"):
        return "correct"
    return "limit" if record["outcome"] == "limit" else "wrong"


def episodes_of(stage: StoredStage, *, original: bool = False, tolerant: bool = False) -> StoredEpisodes:
    """Return a stage's episodes with their newest grades, or with the journal's own."""
    return StoredEpisodes(stage.journal, grades=None if original else stage.grades, tolerant=tolerant)


def stage_overview(stage: StoredStage, *, original: bool = False) -> StageOverview:
    """Read a stage's journal once and add it up; damaged lines are passed over and listed.

    Raises:
        AWorldError: a newer aworld wrote it, or it cannot be read.
    """
    found = StageOverview(stage)
    episodes = episodes_of(stage, original=original, tolerant=True)
    parts: Counter[str] = Counter()

    def seen() -> Iterator[Row]:
        for row in rows(stage, episodes):
            parts[row.verdict] += 1
            if row.outcome == "limit":
                found.limits[row.reason or "?"] += 1
            elif row.outcome == "error":
                found.errors[row.reason or "?"] += 1
            yield row

    found.slowest = heapq.nlargest(_SLOWEST, seen(), key=lambda row: row.seconds)
    found.damaged, found.torn = episodes.damaged, episodes.torn
    results = stage.results(original=original)
    if results is not None:
        found.counts, found.metrics = dict(results[0]), results[1]
    elif stage.path.is_dir():
        found.counts = _unfinished(stage, parts)
    return found


def _unfinished(stage: StoredStage, parts: Counter[str]) -> dict[str, int | None]:
    """Return the counts of a stage that has no summary; `selected` only where the recipe says how many tasks."""
    counts: dict[str, int | None] = {part: parts[part] for part in PARTS}
    tasks, samples = stage.spec.get("tasks"), stage.spec.get("samples", 1)
    if stage.kind in ("rollout", "eval") and isinstance(tasks, int) and isinstance(samples, int):
        counts["missing"] = tasks * samples - sum(parts[part] for part in PARTS[:-1])
        return {"selected": tasks * samples, **counts}
    return {"selected": None, **counts, "missing": None}


def run_overview(run: StoredRun, *, original: bool = False) -> list[StageOverview]:
    """Return every stage of a run."""
    return [stage_overview(stage, original=original) for stage in run.stages]


def header(run: StoredRun, size: int) -> dict[str, Any]:
    """Return what stands above the stages."""
    lock = run.lock
    return {
        "run": run.name,
        "path": str(Path(run.path)),
        "recipe": run.recipe,
        "status": run.status,
        "started": run.started.isoformat(),
        "seconds": round(run.seconds, 3),
        "seed": lock.get("seed"),
        "python": lock.get("python"),
        "plugins": {item["distribution"]: item["version"] for item in lock.get("plugins") or ()},
        "machine": lock.get("machine"),
        "git": lock.get("git"),
        "bytes": size,
    }
