"""Two runs side by side: what was set, what was installed, what came of it, and which tasks turned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aworld_cli.archive.overview import episodes_of
from aworld_cli.archive.store import StoredRun, StoredStage
from aworld_cli.recipe.document import dotted
from aworld_cli.report.paired import paired_difference, sign_test
from aworld_cli.trajectory.stored import SETTLED

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs; `of` says which runs have it ("both", "a" or "b")."""

    key: str
    of: str
    a: Any = None
    b: Any = None

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, key) for key in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Turned:
    """A task on which the two runs differ; `a` and `b` are the means over its samples."""

    task: str
    a: float
    b: float

    def to_json(self) -> dict[str, Any]:
        return {"task": self.task, "a": round(self.a, 6), "b": round(self.b, 6)}


@dataclass(slots=True)
class Paired:
    """A comparison on the tasks that both stages have on record (equal id and hash of the data).

    `score` is "correct" or, where no grade says what is correct, "reward". `difference` is b minus a.
    """

    score: str
    tasks: int
    only_a: int
    only_b: int
    difference: dict[str, float | int]
    p: float
    better: list[Turned] = field(default_factory=list)
    worse: list[Turned] = field(default_factory=list)

    def to_json(self, *, tasks: bool) -> dict[str, Any]:
        """Return the comparison; with `tasks` each that turned."""
        lists = {"better": self.better, "worse": self.worse}
        return {
            "score": self.score,
            "tasks": self.tasks,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "difference": self.difference,
            "p": round(self.p, 6),
            **{key: len(value) for key, value in lists.items()},
            **({f"{key}_tasks": [item.to_json() for item in value] for key, value in lists.items()} if tasks else {}),
        }


@dataclass(slots=True)
class StageDiff:
    """Stages of one name and kind in both runs; a side's counts and metrics are None while it has not ended."""

    name: str
    kind: str
    counts: dict[str, dict[str, int] | None]
    metrics: dict[str, dict[str, dict[str, float | int]] | None]
    seconds: dict[str, float]
    paired: Paired | None = None

    def to_json(self, *, tasks: bool) -> dict[str, Any]:
        """Return the stage; `difference` of each metric that both have is b minus a."""
        a, b = self.metrics["a"] or {}, self.metrics["b"] or {}
        return {
            "name": self.name,
            "kind": self.kind,
            "counts": self.counts,
            "metrics": self.metrics,
            "difference": {key: round(b[key]["value"] - a[key]["value"], 6) for key in a if key in b},
            "seconds": self.seconds,
            "paired": None if self.paired is None else self.paired.to_json(tasks=tasks),
        }


@dataclass(slots=True)
class RunDiff:
    """What `aworld runs diff` shows."""

    a: str
    b: str
    settings: list[Difference]
    versions: list[Difference]
    machine: list[Difference]
    git: list[Difference]
    stages: list[StageDiff]
    only_a: list[str]
    only_b: list[str]

    def to_json(self, *, tasks: bool) -> dict[str, Any]:
        """Return all of it; with `tasks` each task that turned."""
        parts = ("settings", "versions", "machine", "git")
        return {
            "a": self.a,
            "b": self.b,
            **{part: [item.to_json() for item in getattr(self, part)] for part in parts},
            "stages": [stage.to_json(tasks=tasks) for stage in self.stages],
            "only_a": self.only_a,
            "only_b": self.only_b,
        }


def diff_runs(a: StoredRun, b: StoredRun, *, original: bool = False) -> RunDiff:
    """Compare two runs. Values of secrets are not in a lock, so none can show.

    Raises:
        AWorldError: a journal cannot be read, or is damaged.
    """
    both = [(stage, other) for stage in a.stages for other in b.stages if _kin(stage, other)]
    return RunDiff(
        a=a.name,
        b=b.name,
        settings=list(_differences(_flat(a.lock["recipe"]), _flat(b.lock["recipe"]))),
        versions=list(_differences(_versions(a.lock), _versions(b.lock))),
        machine=list(_differences(_flat(a.lock.get("machine")), _flat(b.lock.get("machine")))),
        git=list(_differences(_flat(a.lock.get("git")), _flat(b.lock.get("git")))),
        stages=[_stage_diff(stage, other, original=original) for stage, other in both],
        only_a=[stage.name for stage in a.stages if not any(_kin(stage, other) for other in b.stages)],
        only_b=[stage.name for stage in b.stages if not any(_kin(stage, other) for other in a.stages)],
    )


def _kin(a: StoredStage, b: StoredStage) -> bool:
    return (a.name, a.kind) == (b.name, b.kind)


def _flat(value: Any, path: tuple[str | int, ...] = ()) -> dict[str, Any]:
    """Return the scalars (and empty lists and mappings) within a value by their dotted paths."""
    if isinstance(value, Mapping) and value:
        items = [(str(key), item) for key, item in value.items()]
        return {key: leaf for name, item in items for key, leaf in _flat(item, (*path, name)).items()}
    if isinstance(value, list) and value:
        return {key: leaf for at, item in enumerate(value) for key, leaf in _flat(item, (*path, at)).items()}
    return {dotted(path): value} if path else {}


def _versions(lock: Mapping[str, Any]) -> dict[str, Any]:
    return {"python": lock.get("python"), **(lock.get("distributions") or {})}


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Difference]:
    for key in dict.fromkeys([*a, *b]):
        left, right = a.get(key, _ABSENT), b.get(key, _ABSENT)
        if left is _ABSENT:
            yield Difference(key, "b", b=right)
        elif right is _ABSENT:
            yield Difference(key, "a", a=left)
        elif (left, type(left)) != (right, type(right)):
            yield Difference(key, "both", left, right)


def _stage_diff(a: StoredStage, b: StoredStage, *, original: bool) -> StageDiff:
    results = {"a": a.results(original=original), "b": b.results(original=original)}
    return StageDiff(
        name=a.name,
        kind=a.kind,
        counts={side: None if result is None else result[0] for side, result in results.items()},
        metrics={side: None if result is None else result[1] for side, result in results.items()},
        seconds={
            "a": 0.0 if a.summary is None else a.summary.seconds,
            "b": 0.0 if b.summary is None else b.summary.seconds,
        },
        paired=_paired(a, b, original=original) if a.kind == "eval" and a.summary and b.summary else None,
    )


@dataclass(slots=True)
class _Scores:
    """Of one task: how many episodes are correct, the sum of their rewards, how many are graded."""

    correct: int = 0
    rewards: float = 0.0
    graded: int = 0


def _scores(stage: StoredStage, *, original: bool) -> tuple[dict[tuple[str, str], _Scores], bool]:
    found: dict[tuple[str, str], _Scores] = {}
    defined = False
    for record in episodes_of(stage, original=original):
        episode, grade = record["episode"], record.get("grade")
        score = found.setdefault((episode["task"], episode["hash"]), _Scores())
        if record["outcome"] in SETTLED and grade is not None:
            score.correct += bool(grade.get("correct"))
            score.rewards += grade.get("reward") or 0.0
            score.graded += 1
            defined = defined or grade.get("correct") is not None
    return found, defined


def _paired(a: StoredStage, b: StoredStage, *, original: bool) -> Paired | None:
    """Compare two evaluations task by task. An episode that failed or is missing is not correct, as in pass@1."""
    (left, left_defined), (right, right_defined) = _scores(a, original=original), _scores(b, original=original)
    by_correct = left_defined or right_defined
    common = [key for key in left if key in right and (by_correct or (left[key].graded and right[key].graded))]
    if not common:
        return None

    def score(stage: StoredStage, found: _Scores) -> float:
        samples = stage.summary.samples if stage.summary is not None else 1
        return found.correct / samples if by_correct else found.rewards / found.graded

    turned = [Turned(key[0], score(a, left[key]), score(b, right[key])) for key in common]
    better = [item for item in turned if item.b > item.a]
    worse = [item for item in turned if item.b < item.a]
    return Paired(
        score="correct" if by_correct else "reward",
        tasks=len(common),
        only_a=sum(key not in right for key in left),
        only_b=sum(key not in left for key in right),
        difference=paired_difference([item.b - item.a for item in turned]).to_json(),
        p=sign_test(len(better), len(worse)),
        better=better,
        worse=worse,
    )
