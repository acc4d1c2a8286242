"""The live display: a progress bar on a terminal, a line every few seconds elsewhere. All of it on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import TimeRemainingColumn as RemainingColumn
from rich.table import Column

from aworld_cli.cli import output
from aworld_cli.report.tables import short, stage_line
from aworld_cli.run.summary import StageSummary
from aworld_cli.trainer.base import StageProgress

if TYPE_CHECKING:
    from aworld_cli.reporter.base import RunInfo

PLAIN_SECONDS = 5.0
_LONGEST_QUIET = 60.0


class Display:
    """A `Listener` and a context manager; the terminal is as it was when it ends."""

    def __init__(self) -> None:
        self._console = output.console(stderr=True)
        self._live = sys.stderr.isatty()
        self._progress = Progress(
            *self._columns(),
            console=self._console,
            expand=True,
            transient=True,
            refresh_per_second=4,
        )
        self._task: TaskID | None = None
        self._name = ""
        self._said = 0.0
        self._pause = PLAIN_SECONDS

    def _columns(self) -> list[ProgressColumn]:
        """Return the parts of the live line; on a narrow terminal the bar goes, then the figures are cut."""
        whole = Column(no_wrap=True)
        bar = [BarColumn(bar_width=20)] if self._console.width >= 100 else []
        figures = TextColumn("{task.fields[figures]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
        return [
            TextColumn("{task.description}", table_column=whole),
            *bar,
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimeElapsedColumn(table_column=Column(no_wrap=True)),
            RemainingColumn(table_column=Column(no_wrap=True)),
            figures,
        ]

    def __enter__(self) -> Display:
        if self._live:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._progress.stop()

    def run_started(self, run: RunInfo) -> None:
        """Nothing to show yet."""

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None:
        """Nothing to show; `stage_progress` has the figures."""

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None:
        """Nothing to show; the closing tables do."""

    def stage_started(self, name: str, kind: str, total: int | None) -> None:
        """Show a fresh bar."""
        self._name = name
        self._said = time.monotonic()
        if self._live:
            self._drop()
            self._task = self._progress.add_task(name, total=total, figures="starting")
        else:
            count = "" if total is None else f" of {total:,} episodes"
            self._console.print(f"{name}: {kind}{count} begins", markup=False)

    def stage_progress(self, progress: StageProgress) -> None:
        """Move the bar, or write a line when some seconds have passed."""
        figures = "  ".join(f"{key} {short(value)}" for key, value in progress.figures.items())
        text = f"{progress.note}  {figures}".strip()
        if self._live:
            if self._task is not None:
                self._progress.update(
                    self._task, completed=progress.done, total=progress.total, figures=text, refresh=False
                )
            return
        if not progress.note:
            self._pause = PLAIN_SECONDS
        if time.monotonic() - self._said >= self._pause:
            self._said = time.monotonic()
            if progress.note:  # while nothing moves, less and less is said
                self._pause = min(2 * self._pause, _LONGEST_QUIET)
            self._console.print(
                f"{self._name}: {progress.done:,}/{progress.total:,}  {text}", markup=False, soft_wrap=True
            )

    def stage_finished(self, summary: StageSummary, *, resumed: bool) -> None:
        """Leave one line that stays."""
        self._drop()
        self._console.print(stage_line(summary) + ("  (done before)" if resumed else ""), markup=False, soft_wrap=True)

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        self._console.print(text, markup=False, soft_wrap=True)

    def _drop(self) -> None:
        if self._live and self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
