"""New grades for saved trajectories, by the environment as it is installed now.

The journal is never changed. A stage's new grades go to a file of their own, `stages/NN-name/rescores/<utc>.jsonl`, a
line for each settled episode; they hold from the moment the stage's summary names that file, which is its last step.
So an interrupted rescore changes nothing, and a stage that is run again goes by its journal.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aworld_cli import __version__
from aworld_cli.archive.overview import episodes_of
from aworld_cli.archive.store import StoredRun, StoredStage
from aworld_cli.environment.base import Environment, Task
from aworld_cli.errors import AWorldError, MachineError, UsageError
from aworld_cli.host.registry import describe
from aworld_cli.recipe.plan import Plan
from aworld_cli.recipe.schema import CollectStage, EvalStage
from aworld_cli.report.metrics import Tally
from aworld_cli.run.directory import RunDirectory, read_json, write_json
from aworld_cli.run.summary import StageSummary
from aworld_cli.runtime.episode import checked
from aworld_cli.trajectory.journal import encode_line
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import SCHEMA_VERSION
from aworld_cli.trajectory.stored import SETTLED, identity

RESCORABLE = ("rollout", "eval")


@dataclass(slots=True)
class Rescored:
    """What became of one stage.

    `graded`, `changed` and `kept` are numbers of episodes: graded anew, with another grade than before, and left as
    they were because their task is no longer there (`gone`, its ids) or its grading failed (`failed`, what was said).
    """

    stage: StoredStage
    summary: StageSummary
    before: dict[str, Any]
    graded: int = 0
    changed: int = 0
    better: int = 0
    worse: int = 0
    kept: int = 0
    gone: list[str] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the stage as `--json` writes it."""
        return {
            "name": self.stage.name,
            **{key: getattr(self, key) for key in ("graded", "changed", "better", "worse", "kept", "gone", "failed")},
            "before": self.before,
            "after": {"counts": self.summary.counts, "metrics": self.summary.metrics},
        }


@dataclass(frozen=True, slots=True)
class Rescorer:
    """Grades a run anew.

    Args:
        plan: holds the environment and the stages that collect (see `aworld_cli.archive.regrading.grading_plan`).
        reason: why, for the record.
        options: the environment's options as the recipe has them, without values of secrets.
    """

    run: StoredRun
    plan: Plan
    options: Mapping[str, Any]
    reason: str = ""

    def rescore(self, stages: Sequence[StoredStage], *, dry_run: bool) -> list[Rescored]:
        """Grade the stages' settled episodes, and unless `dry_run` put the new grades in force.

        Raises:
            AWorldError: a journal is damaged, a plugin fails, the disk refuses; nothing is changed then.
            UsageError: another process writes the run.
        """
        if dry_run:
            return [self._grade(stage, None) for stage in stages]
        directory = RunDirectory.open(self.run.path)
        files: list[Path] = []
        done: list[Rescored] = []
        try:
            for stage in stages:
                files.append(_new_file(stage.path / "rescores"))
                done.append(self._grade(stage, files[-1]))
            for at, item in enumerate(done):
                if item.graded:  # else all stays as it was
                    files[at] = _named(files[at])
            for item, file in zip(done, files, strict=True):
                if item.graded:
                    self._put_in_force(item, file)
                else:
                    _remove(file)
            self._update_run(done)
        except BaseException as error:
            _undo(done, files)
            if isinstance(error, OSError):
                raise MachineError(f"{error.filename}: cannot be written: {error.strerror}") from error
            raise
        finally:
            directory.close()
        return done

    # -- grading ----------------------------------------------------------------------------------------------

    def _grade(self, stage: StoredStage, path: Path | None) -> Rescored:
        assert stage.summary is not None
        planned = next(item for item in self.plan.stages if item.name == stage.name)
        assert isinstance(planned.spec, CollectStage)
        environment: Environment = self.plan.environment.make()
        before = {"counts": stage.summary.counts, "metrics": stage.summary.metrics}
        found = Rescored(stage, stage.summary, before)
        tasks = _Tasks(self.plan, environment, planned.spec)
        tally = self._tally(stage)
        with contextlib.ExitStack() as stack:
            file = None if path is None else stack.enter_context(path.open("wb"))
            for record in episodes_of(stage):
                if record["outcome"] in SETTLED:
                    line = self._line(found, environment, tasks, record)
                    record["grade"] = line["new"]
                    if file is not None:
                        file.write(encode_line(line))
                tally.add(record)
            if file is not None:
                file.flush()
                os.fsync(file.fileno())
        found.gone = sorted(set(found.gone))
        metrics = tally.metrics(planned.spec.k if isinstance(planned.spec, EvalStage) else (1,))
        metrics_json = {key: value.to_json() for key, value in metrics.items()}
        found.summary = replace(stage.summary, counts=tally.counts(), metrics=metrics_json)
        return found

    @staticmethod
    def _tally(stage: StoredStage) -> Tally:
        """Return an empty tally of the tasks that were selected then, whatever the environment has now."""
        assert stage.summary is not None
        tasks = list(dict.fromkeys(identity(record)[:2] for record in episodes_of(stage, original=True)))
        selected = stage.summary.counts["selected"] // stage.summary.samples
        tasks += [(f"\x00missing {number}", "") for number in range(selected - len(tasks))]
        return Tally(tasks, stage.summary.samples)

    def _line(self, found: Rescored, environment: Environment, tasks: _Tasks, record: dict[str, Any]) -> dict[str, Any]:
        """Return the line of one episode: its identity, the grade before and after, and how that came about."""
        old = record.get("grade")
        new, how, said = old, "graded", ""
        task = tasks.find(record["episode"]["task"], record["episode"]["hash"])
        if task is None:
            how = "no task"
            found.gone.append(record["episode"]["task"])
        else:
            messages = [Message.from_json(message) for message in record["messages"]]
            try:
                grade = checked(environment.grade(task, record["answer"], messages)).to_json()
                encode_line(grade)
                new = grade
            except AWorldError:  # what the machine lacks, it lacks for all
                raise
            except (Exception, SystemExit) as error:
                how, said = "failed", describe(error)
                found.failed.append({"task": task.id, "sample": record["episode"]["sample"], "error": said})
        _count(found, old, new, how)
        line = {"schema_version": SCHEMA_VERSION, "episode": record["episode"], "how": how, "old": old, "new": new}
        return line | ({"error": said} if said else {})

    # -- putting it in force ----------------------------------------------------------------------------------

    def _put_in_force(self, item: Rescored, file: Path) -> None:
        entry = {
            "file": f"rescores/{file.name}",
            **self.provenance(),
            **{key: getattr(item, key) for key in ("graded", "changed", "better", "worse", "kept")},
            "gone": len(item.gone),
            "failed": len(item.failed),
            "before": item.before,
        }
        item.summary = replace(item.summary, rescored=[*item.stage.rescored, entry])
        write_json(item.stage.path / "summary.json", item.summary.to_json())

    def provenance(self) -> dict[str, Any]:
        """Return when, by what and why the new grades were made."""
        plugin = self.plan.environment.registered.plugin
        return {
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "aworld": __version__,
            "environment": dict(self.options),
            "plugin": {"distribution": plugin.distribution, "version": plugin.version},
            "reason": self.reason,
        }

    def _update_run(self, done: Sequence[Rescored]) -> None:
        path = self.run.path / "summary.json"
        value = read_json(path)
        if value is None:
            return
        new = {item.stage.name: item.summary.to_json() for item in done}
        value["stages"] = [new.get(stage["name"], stage) for stage in value["stages"]]
        write_json(path, value)


class _Tasks:
    """The environment's tasks by id and hash: those that the stage asks for, or all of the split once one is amiss."""

    def __init__(self, plan: Plan, environment: Environment, spec: CollectStage) -> None:
        self._plan, self._environment, self._spec = plan, environment, spec
        self._known = self._list(spec.tasks)
        self._whole = spec.tasks is None

    def _list(self, limit: int | None) -> dict[tuple[str, str], Task]:
        registered = self._plan.environment.registered
        with registered.blamed(f"listing the tasks of its split {self._spec.split!r}"):
            if self._spec.split not in self._environment.splits():
                return {}
            return {(task.id, task.hash): task for task in self._environment.tasks(self._spec.split, limit)}

    def find(self, task: str, digest: str) -> Task | None:
        """Return the task, or None when it is no longer there."""
        found = self._known.get((task, digest))
        if found is None and not self._whole:
            self._known, self._whole = self._list(None), True
            found = self._known.get((task, digest))
        return found


def _count(found: Rescored, old: Any, new: Any, how: str) -> None:
    if how != "graded":
        found.kept += 1
        return
    found.graded += 1
    found.changed += old != new
    before, after = (old or {}).get("reward") or 0.0, (new or {}).get("reward") or 0.0
    found.better += after > before
    found.worse += after < before


def _new_file(folder: Path) -> Path:
    """Return a hidden name in `folder` for a file that is not in force yet; what an earlier kill left goes away."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(".*.new"):
        old.unlink(missing_ok=True)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = (stamp if number == 1 else f"{stamp}-{number}" for number in range(1, 1_000))
    return next(folder / f".{name}.jsonl.new" for name in names if not (folder / f"{name}.jsonl").exists())


def _named(file: Path) -> Path:
    """Give a file its own name, now that it is whole."""
    return file.rename(file.with_name(file.name.removeprefix(".").removesuffix(".new")))


def _undo(done: Sequence[Rescored], files: Sequence[Path]) -> None:
    """Put back the summaries that were, and remove the files."""
    for item in done:
        if item.stage.summary is not None and item.summary.rescored != item.stage.summary.rescored:
            with contextlib.suppress(AWorldError):
                write_json(item.stage.path / "summary.json", item.stage.summary.to_json())
    for file in files:
        _remove(file)


def _remove(file: Path) -> None:
    """Remove a file that is not in force, and its folder where that is empty then."""
    with contextlib.suppress(OSError):
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        file.parent.rmdir()


def rescorable(run: StoredRun, name: str | None) -> tuple[list[StoredStage], list[str]]:
    """Return the stages that can be graded anew, and a text for each that is passed over.

    Raises:
        UsageError: the stage that is asked for cannot, or none can.
    """
    chosen = [run.stage(name)] if name is not None else list(run.stages)
    found = [stage for stage in chosen if stage.kind in RESCORABLE and stage.summary is not None]
    unfinished = [stage.name for stage in chosen if stage.kind in RESCORABLE and stage.summary is None]
    texts = [f"{stage!r} has not ended yet; go on with it first (aworld runs resume)" for stage in unfinished]
    if not found:
        others = f"; {chosen[0].kind} stages train" if name is not None and not texts else ""
        raise UsageError("; ".join(texts) or f"nothing to rescore: only rollout and eval stages are{others}")
    return found, texts
