"""The runs below a directory, a line each. No journal is read: a run of 100,000 episodes is listed as fast as any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aworld_cli.archive.store import StoredRun, is_written, read_run, size_of, start_time
from aworld_cli.errors import AWorldError, UsageError
from aworld_cli.run.summary import PARTS

#: What `status` may be. `stopped` is also a run whose process was killed.
STATUSES = ("running", "done", "stopped", "failed", "damaged")


@dataclass(frozen=True, slots=True)
class Listed:
    """A line of `aworld runs`; `reason` says what is damaged, `metric` is that of the last evaluation."""

    name: str
    path: Path
    status: str
    reason: str = ""
    recipe: str = ""
    started: datetime | None = None
    seconds: float = 0.0
    done: int = 0
    total: int = 0
    episodes: int = 0
    size: int = 0
    metric: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what `--json` writes; times in seconds and UTC, `bytes` of all files of the run."""
        return {
            "run": self.name,
            "path": str(self.path),
            "recipe": self.recipe,
            "status": self.status,
            "reason": self.reason,
            "started": None if self.started is None else self.started.isoformat(),
            "seconds": round(self.seconds, 3),
            "stages": {"done": self.done, "total": self.total},
            "episodes": self.episodes,
            "metric": self.metric,
            "bytes": self.size,
        }


def list_runs(runs_dir: Path, *, sizes: bool = True) -> list[Listed]:
    """Return every directory below `runs_dir`, newest first; one that is no whole run has the status `damaged`.

    Args:
        sizes: whether to add up their files.

    Raises:
        UsageError: `runs_dir` cannot be read. One that is not there holds no runs.
    """
    found = [_listed(path, sizes=sizes) for path in _directories(runs_dir)]
    return sorted(found, key=lambda run: (run.started or datetime.min.replace(tzinfo=UTC), run.name), reverse=True)


def _directories(runs_dir: Path) -> Iterator[Path]:
    try:
        for path in runs_dir.iterdir():
            if not path.name.startswith(".") and path.is_dir():
                yield path
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{runs_dir}: cannot be read: {error.strerror}") from error


def _listed(path: Path, *, sizes: bool) -> Listed:
    started = start_time(path)
    size = size_of(path) if sizes else 0
    try:
        if not (path / "lock.json").exists() and is_written(path):  # it begins just now
            return Listed(path.name, path, "running", started=started)
        run = read_run(path)
        counts = [stage.summary.counts for stage in run.stages if stage.summary is not None]
        return Listed(
            name=run.name,
            path=path,
            status=run.status,
            recipe=run.recipe,
            started=run.started,
            seconds=run.seconds,
            done=sum(stage.summary is not None for stage in run.stages),
            total=len(run.stages),
            episodes=sum(count.get(part, 0) for count in counts for part in PARTS[:-1]),
            size=size,
            metric=_headline(run),
        )
    except AWorldError as error:
        reason = str(error).removeprefix(f"{path}: ").removeprefix(f"{path}/")
        return Listed(path.name, path, "damaged", reason, started=started, size=size)


def _headline(run: StoredRun) -> dict[str, Any] | None:
    for stage in reversed(run.stages):
        if stage.kind == "eval" and stage.summary is not None:
            metrics = stage.summary.metrics
            name = next((key for key in ("pass@1", *metrics) if key in metrics), None)
            return None if name is None else {"stage": stage.name, "name": name, **metrics[name]}
    return None
