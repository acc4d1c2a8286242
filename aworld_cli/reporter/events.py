"""The built-in reporter `events`: one JSON line an event, for whoever follows a run from outside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel, ConfigDict, Field

from aworld_cli.errors import MachineError
from aworld_cli.reporter.base import RunInfo, StageInfo
from aworld_cli.trajectory.journal import finite

SCHEMA_VERSION = 1
_BRIEF = ("episode", "outcome", "grade", "limit", "error", "attempts", "seconds")


class EventsConfig(BaseModel):
    """Options of `reporters: [{kind: events}]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path = Field(
        Path("events.jsonl"), description="The file that is appended to; a relative one lies in the run's directory."
    )
    whole: bool = Field(
        False, description="Write each episode's whole record (messages, tokens), not only what became of it."
    )


class EventsReporter:
    """Appends to one file, flushed with each event; a resumed run goes on in it."""

    name = "events"

    def __init__(self, config: EventsConfig) -> None:
        self.config = config
        self._file: IO[str] | None = None

    def run_started(self, run: RunInfo) -> None:
        """Open the file. Raises MachineError when it cannot be."""
        path = run.directory / self.config.path.expanduser()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise MachineError(f"reporter events: {path}: cannot be written: {error.strerror}") from error
        stages = list(run.stages)
        self._write("run_started", run=run.name, seed=run.seed, resumed=run.resumed, stages=stages)

    def stage_started(self, stage: StageInfo) -> None:
        """See `Reporter`."""
        self._write("stage_started", stage=stage.name, kind=stage.kind, total=stage.total)

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None:
        """See `Reporter`."""
        shown = dict(record) if self.config.whole else {key: record.get(key) for key in _BRIEF}
        self._write("trajectory_finished", stage=stage, record=shown)

    def stage_finished(self, stage: str, summary: Mapping[str, Any]) -> None:
        """See `Reporter`."""
        self._write("stage_finished", stage=stage, summary=dict(summary))

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None:
        """Close the file; the summary's stages have been told one by one."""
        self._write("run_finished", status=status, seconds=summary.get("seconds"))
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, event: str, **fields: Any) -> None:
        if self._file is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        value = finite({"schema_version": SCHEMA_VERSION, "event": event, "time": now, **fields})
        self._file.write(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str) + "\n")
        self._file.flush()


def events(config: EventsConfig) -> EventsReporter:
    """Make the reporter."""
    return EventsReporter(config)
