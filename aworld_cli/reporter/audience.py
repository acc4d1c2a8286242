"""Everyone who hears of a run: the recipe's reporters, and the plugins that implement event hooks.

Each is on its own: one that fails costs a warning and hears no more; the run and the others go on. Summaries are given
as copies; records, which may be long, are not.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any

from aworld_cli.errors import AWorldError
from aworld_cli.reporter.base import Reporter, RunInfo, StageInfo

EVENTS = ("run_started", "stage_started", "trajectory_finished", "stage_finished", "run_finished")


class HookReporter:
    """The event hooks of one plugin, as a reporter."""

    def __init__(self, name: str, module: object) -> None:
        import pluggy

        from aworld_cli.host import hooks

        self.name = name
        manager = pluggy.PluginManager("aworld")
        manager.add_hookspecs(hooks)
        manager.register(module)
        self._hook = manager.hook
        self._run: RunInfo | None = None

    def run_started(self, run: RunInfo) -> None:
        """See `Reporter`."""
        self._run = run
        self._hook.aworld_run_started(run=run)

    def stage_started(self, stage: StageInfo) -> None:
        """See `Reporter`."""
        self._hook.aworld_stage_started(run=self._run, stage=stage)

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None:
        """See `Reporter`."""
        self._hook.aworld_trajectory_finished(run=self._run, stage=stage, record=record)

    def stage_finished(self, stage: str, summary: Mapping[str, Any]) -> None:
        """See `Reporter`."""
        self._hook.aworld_stage_finished(run=self._run, stage=stage, summary=summary)

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None:
        """See `Reporter`."""
        self._hook.aworld_run_finished(run=self._run, status=status, summary=summary)


def hook_reporters(modules: Iterable[tuple[str, object]]) -> list[tuple[str, Reporter]]:
    """Return a reporter for each `(title, plugin module)` that implements an event hook."""
    return [
        (title, HookReporter(title, module))
        for title, module in modules
        if any(hasattr(module, f"aworld_{event}") for event in EVENTS)
    ]


class Audience:
    """Passes a run's events on, in order.

    Args:
        reporters: those that the recipe names, each with its title.
        hooks: those of plugins (see `hook_reporters`), which the recipe does not name.
        warn: is told of one that failed.
    """

    def __init__(
        self,
        reporters: Sequence[tuple[str, Reporter]] = (),
        hooks: Sequence[tuple[str, Reporter]] = (),
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._reporters = list(reporters)
        self._hearing = [*reporters, *hooks]
        self._warn = warn

    def __bool__(self) -> bool:
        """Whether anyone listens."""
        return bool(self._hearing)

    def run_started(self, run: RunInfo) -> None:
        """Begin. Raises AWorldError when a reporter that the recipe names says that it cannot work."""
        named = [reporter for _, reporter in self._reporters]
        self._tell("run_started", run, fatal=named)

    def stage_started(self, stage: StageInfo) -> None:
        """A stage begins."""
        self._tell("stage_started", stage)

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None:
        """An episode is on record."""
        self._tell("trajectory_finished", stage, record)

    def stage_finished(self, stage: str, summary: Mapping[str, Any]) -> None:
        """A stage is done."""
        self._tell("stage_finished", stage, copy.deepcopy(summary))

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None:
        """The run ends."""
        self._tell("run_finished", status, copy.deepcopy(summary))

    def _tell(self, event: str, *arguments: Any, fatal: Sequence[Reporter] = ()) -> None:
        for title, reporter in list(self._hearing):
            try:
                with redirect_stdout(sys.stderr):
                    getattr(reporter, event)(*arguments)
            except KeyboardInterrupt:  # the user's
                raise
            except BaseException as error:  # SystemExit, or a CancelledError that is not ours: nothing is awaited here
                if isinstance(error, AWorldError) and reporter in fatal:
                    raise
                self._hearing.remove((title, reporter))
                text = " ".join(str(error).split()) or "no message"
                self._warn(f"warning: {title} failed in {event} ({type(error).__name__}: {text}); it hears no more")
