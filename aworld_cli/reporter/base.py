"""The interface of reporters, and the records that they and the event hooks are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class RunInfo:
    """A run that begins.

    Args:
        name: the run directory's name.
        directory: where it is.
        recipe: the resolved recipe as plain values; what comes from `${env:NAME}` is still that reference.
        seed: the recipe's seed.
        resumed: whether an earlier process has begun it.
        stages: the stages' names, in order.
    """

    name: str
    directory: Path
    recipe: Mapping[str, Any]
    seed: int
    resumed: bool
    stages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StageInfo:
    """A stage that begins; `total` episodes or steps, None when not known yet."""

    name: str
    kind: str
    total: int | None


class Reporter(Protocol):
    """Hears of one run, in the process that runs it. Calls come one at a time and must return soon.

    The order is: `run_started`, then for each stage `stage_started`, its trajectories and `stage_finished`, then
    `run_finished`, which always comes. An exception costs the run a warning, and the reporter the events after it.
    """

    name: str

    def run_started(self, run: RunInfo) -> None:
        """A run begins, or goes on. An AWorldError raised here stops it: the reporter cannot do its work."""

    def stage_started(self, stage: StageInfo) -> None:
        """A stage begins, or goes on; one that an earlier process finished is not heard of again."""

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None:
        """An episode of the stage is on record; `record` is what the journal holds, and must not be changed."""

    def stage_finished(self, stage: str, summary: Mapping[str, Any]) -> None:
        """A stage is done; `summary` is its part of `summary.json`."""

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None:
        """The run ends: `done`, `stopped` or `failed`; `summary` is `summary.json`. Close what is open."""
