"""Runs on disk, read without disturbing whoever writes them.

Nothing here writes or reads a journal. What another process writes is seen as it was a moment ago, never half.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aworld_cli.errors import UsageError
from aworld_cli.run.directory import SCHEMA_VERSION, read_json
from aworld_cli.run.summary import StageSummary

_STAMP = re.compile(r"\d{8}T\d{6}Z(?=-)")


@dataclass(frozen=True, slots=True)
class StoredStage:
    """One stage of a recipe, and what is on disk of it.

    Args:
        spec: its settings as the lock holds them.
        summary: what `summary.json` of the stage holds; None while the stage has not ended.
    """

    index: int
    name: str
    kind: str
    path: Path
    spec: dict[str, Any]
    summary: StageSummary | None = None

    @property
    def rescored(self) -> list[dict[str, Any]]:
        """What `aworld runs rescore` made of it, newest last (see `aworld_cli.archive.rescore`)."""
        return [] if self.summary is None else self.summary.rescored

    @property
    def journal(self) -> Path:
        """The stage's records."""
        return self.path / "trajectories.jsonl"

    @property
    def grades(self) -> Path | None:
        """The newest file of new grades; None when the journal's own hold."""
        return self.path / str(self.rescored[-1]["file"]) if self.rescored else None

    def results(self, *, original: bool) -> tuple[dict[str, int], dict[str, dict[str, float | int]]] | None:
        """Return counts and metrics, by the newest grades or by the journal's own; None while it has not ended."""
        if self.summary is None:
            return None
        if original and self.rescored:
            before = self.rescored[0]["before"]
            return before["counts"], before["metrics"]
        return self.summary.counts, self.summary.metrics


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run directory that could be read; `lock` is what lock.json holds."""

    path: Path
    lock: dict[str, Any]
    summary: dict[str, Any] | None
    status: str
    started: datetime
    stages: tuple[StoredStage, ...]

    @property
    def name(self) -> str:
        """The directory's name."""
        return self.path.name

    @property
    def recipe(self) -> str:
        """The recipe's name."""
        return str(self.lock["recipe"].get("name", ""))

    @property
    def seconds(self) -> float:
        """What its stages took, unfinished ones and those of earlier processes included."""
        return sum(_stage_seconds(stage) for stage in self.stages)

    def stage(self, name: str) -> StoredStage:
        """Return the stage called `name`. Raises UsageError, which names those that there are."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        known = ", ".join(stage.name for stage in self.stages)
        raise UsageError(f"{self.name} has no stage {name!r}; its stages: {known}")


def read_run(path: Path) -> StoredRun:
    """Read a run directory.

    Raises:
        UsageError: it is none, a file of it is damaged, or a newer aworld wrote it.
    """
    lock = read_json(path / "lock.json")
    if lock is None:
        raise UsageError(f"{path}: not a run directory (it holds no lock.json)")
    _check_version(path / "lock.json", lock)
    if not isinstance(lock.get("recipe"), dict):
        raise UsageError(f"{path / 'lock.json'}: damaged: it holds no recipe")
    summary = read_json(path / "summary.json")
    if summary is not None:
        _check_version(path / "summary.json", summary)
    stages = tuple(_stages(path, lock["recipe"].get("stages")))
    started = start_time(path) or datetime.fromtimestamp((path / "lock.json").stat().st_mtime, UTC)
    return StoredRun(path, lock, summary, _status(path, summary), started, stages)


def _check_version(path: Path, value: Any) -> None:
    version = value.get("schema_version") if isinstance(value, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise UsageError(
            f"{path}: a newer aworld wrote it (schema_version {version}, this one reads {SCHEMA_VERSION}); "
            "upgrade aworld"
        )
    if version != SCHEMA_VERSION:
        raise UsageError(f"{path}: damaged: it has no schema_version {SCHEMA_VERSION}")


def _status(path: Path, summary: Any) -> str:
    if is_written(path):
        return "running"
    said = summary.get("status") if isinstance(summary, dict) else None
    return str(said) if said in ("done", "failed") else "stopped"  # `running`, yet nobody writes: it was killed


def _stages(path: Path, specs: Any) -> Iterator[StoredStage]:
    folders = {}
    with contextlib.suppress(OSError):
        folders = {folder.name[:2]: folder for folder in (path / "stages").iterdir() if folder.is_dir()}
    names: set[str] = set()
    for index, item in enumerate(specs if isinstance(specs, list) else (), 1):
        kind, body = next(iter(item.items())) if isinstance(item, dict) and item else ("?", None)
        spec = body if isinstance(body, dict) else {}
        name = spec.get("name") or kind
        if name in names:
            name = next(f"{kind}-{number}" for number in range(2, 1_000) if f"{kind}-{number}" not in names)
        folder = folders.get(f"{index:02d}", path / "stages" / f"{index:02d}-{name}")
        name = folder.name[3:]
        names.add(name)
        yield StoredStage(index, name, str(kind), folder, spec, _read_summary(folder / "summary.json"))


def _read_summary(path: Path) -> StageSummary | None:
    value = read_json(path)
    if value is None:
        return None
    try:
        summary = StageSummary.from_json(value)
        for item in summary.rescored:
            if not isinstance(item["file"], str) or not item["before"].keys() >= {"counts", "metrics"}:
                raise TypeError("rescored")
    except (TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path}: damaged: not a stage's summary ({error})") from error
    return summary


def _stage_seconds(stage: StoredStage) -> float:
    if stage.summary is not None:
        return stage.summary.seconds
    try:
        return float((stage.path / ".seconds").read_text())
    except (OSError, ValueError):
        return 0.0


def start_time(path: Path) -> datetime | None:
    """Return the time in a run directory's name; None where there is none."""
    found = _STAMP.match(path.name)
    try:
        return datetime.strptime(found[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC) if found else None
    except ValueError:
        return None


def is_written(path: Path) -> bool:
    """Tell whether a process holds the run's lock. A look takes a shared lock for an instant, and waits for none."""
    try:
        with (path / ".lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except BlockingIOError:
        return True
    except OSError:  # there is none, or it may not be read
        return False


def size_of(path: Path) -> int:
    """Return the bytes in the files below a directory; links count as links, and what goes away meanwhile as 0."""
    total = 0
    waiting = [str(path)]
    while waiting:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append(entry.path)
                    else:
                        total += found.st_size
    return total
