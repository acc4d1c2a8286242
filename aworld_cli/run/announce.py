"""A listener that passes a run on to two sorts of hearers: the display, and the audience of reporters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from aworld_cli.reporter.audience import Audience
from aworld_cli.reporter.base import RunInfo, StageInfo
from aworld_cli.run.progress import Listener
from aworld_cli.run.summary import StageSummary
from aworld_cli.trainer.base import StageProgress
from aworld_cli.trajectory.journal import decode_line


class Announcer:
    """A `Listener`."""

    def __init__(self, display: Listener, audience: Audience) -> None:
        self.display = display
        self.audience = audience

    def run_started(self, run: RunInfo) -> None:
        """See `Listener`."""
        self.display.run_started(run)
        self.audience.run_started(run)

    def stage_started(self, name: str, kind: str, total: int | None) -> None:
        """See `Listener`."""
        self.display.stage_started(name, kind, total)
        self.audience.stage_started(StageInfo(name, kind, total))

    def stage_progress(self, progress: StageProgress) -> None:
        """See `Listener`; reporters hear of trajectories instead."""
        self.display.stage_progress(progress)

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None:
        """See `Listener`."""
        self.audience.trajectory_finished(stage, record)

    def stage_finished(self, summary: StageSummary, *, resumed: bool) -> None:
        """See `Listener`."""
        self.display.stage_finished(summary, resumed=resumed)
        if not resumed:
            self.audience.stage_finished(summary.name, summary.to_json())

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None:
        """See `Listener`."""
        self.display.run_finished(status, summary)
        self.audience.run_finished(status, summary)

    def note(self, text: str) -> None:
        """See `Listener`."""
        self.display.note(text)


class JournalTail:
    """Reads what another process appends to a journal, from where the journal ends now."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = path.stat().st_size if path.is_file() else 0

    def read(self) -> Iterator[dict[str, Any]]:
        """Yield the whole records that have come; a damaged one is left to whoever reads the journal for its sake."""
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) < self._offset:  # a torn line was cut off
                    self._offset = file.tell()
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    self._offset += len(line)
                    try:
                        record = decode_line(line)
                    except ValueError:
                        continue
                    yield record
        except FileNotFoundError:
            return
