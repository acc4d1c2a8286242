"""What a run tells whoever watches it; the display is one listener, tests are another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from aworld_cli.reporter.base import RunInfo
from aworld_cli.run.summary import StageSummary
from aworld_cli.trainer.base import StageProgress


class Listener(Protocol):
    """Hears of a run as it goes. Calls come often and must return at once."""

    def run_started(self, run: RunInfo) -> None:
        """The run begins, or goes on. Raises AWorldError when a reporter that the recipe names cannot work."""

    def stage_started(self, name: str, kind: str, total: int | None) -> None:
        """A stage begins; `total` episodes or steps, None when not known yet."""

    def stage_progress(self, progress: StageProgress) -> None:
        """The stage has come further."""

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None:
        """An episode is on record."""

    def stage_finished(self, summary: StageSummary, *, resumed: bool) -> None:
        """A stage ended; `resumed` when it had ended before this process began."""

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None:
        """The run ends; `summary` is what `summary.json` holds."""

    def note(self, text: str) -> None:
        """Something worth a line."""
