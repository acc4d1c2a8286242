"""The whole hook contract: what the host asks of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from aworld_cli.host.component import Check, Command, Component
    from aworld_cli.reporter.base import RunInfo, StageInfo

hookspec = pluggy.HookspecMarker("aworld")
hookimpl = pluggy.HookimplMarker("aworld")


@hookspec
def aworld_components() -> list[Component]:  # type: ignore[empty-body]
    """Return the components that this plugin offers. Called once; must import nothing heavy."""


@hookspec
def aworld_commands() -> list[Command]:  # type: ignore[empty-body]
    """Return the command groups that this plugin adds to `aworld`. Called once; must import nothing heavy."""


@hookspec
def aworld_checks() -> list[Check]:  # type: ignore[empty-body]
    """Return what `aworld doctor` looks at for this plugin. Called by doctor alone; must import nothing heavy."""


# Events, for trackers and exporters that need no place in recipes; the arguments are those of `Reporter`. They are
# called in the process that runs the run. What fails costs a warning, and the plugin the events after it.


@hookspec
def aworld_run_started(run: RunInfo) -> None:
    """A run begins, or goes on."""


@hookspec
def aworld_stage_started(run: RunInfo, stage: StageInfo) -> None:
    """A stage begins, or goes on."""


@hookspec
def aworld_trajectory_finished(run: RunInfo, stage: str, record: Mapping[str, Any]) -> None:
    """An episode is on record."""


@hookspec
def aworld_stage_finished(run: RunInfo, stage: str, summary: Mapping[str, Any]) -> None:
    """A stage is done."""


@hookspec
def aworld_run_finished(run: RunInfo, status: str, summary: Mapping[str, Any]) -> None:
    """The run ends: done, stopped or failed."""
