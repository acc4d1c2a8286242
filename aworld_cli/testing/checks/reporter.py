"""Reporters, and the event hooks of a plugin: they hear whatever a run has to tell, and close what they open."""

from __future__ import annotations

import asyncio
import copy
import inspect
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from aworld_cli.errors import AWorldError
from aworld_cli.host.registry import describe
from aworld_cli.report.metrics import Tally
from aworld_cli.reporter.base import Reporter, RunInfo, StageInfo
from aworld_cli.run.summary import StageSummary, Status, run_summary
from aworld_cli.testing.check import Check, fail, require, skip
from aworld_cli.testing.stage import EchoTokenModel, KitEnvironment, KitTools
from aworld_cli.testing.subject import Subject

_MANY, _SECONDS = 500, 10.0  # trajectories, and what hearing of them may take

#: An event's name and what the reporter is given.
Event = tuple[str, tuple[Any, ...]]
Make = Callable[[], Reporter]


def checks(subject: Subject) -> list[Check]:
    """Return the checks of a reporter."""
    return of_reporter(subject.title, subject.make)


def of_reporter(title: str, make: Make) -> list[Check]:
    """Return the checks of what `make` gives, a new reporter each time."""
    return [
        Check(f"{title}: hears a run", lambda: _hears(title, make)),
        Check(f"{title}: hears odd values", lambda: _odd(title, make)),
        Check(f"{title}: hears a run that fails and goes on", lambda: _resumed(title, make)),
        Check(f"{title}: closes what it opens", lambda: _closes(title, make)),
        Check(f"{title}: is quick", lambda: _quick(title, make)),
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """Events of a real run of a few episodes, in a directory of its own."""

    directory: Path
    records: list[dict[str, Any]]

    def started(self, *, resumed: bool = False) -> Event:
        recipe = {"aworld": 1, "name": "kit", "model": {"kind": "scripted", "replies": ["4"], "key": "${env:KEY}"}}
        return "run_started", (RunInfo("kit", self.directory, recipe, 0, resumed, ("eval", "train")),)

    def stage(self) -> list[Event]:
        tally = Tally([(one["episode"]["task"], one["episode"]["hash"]) for one in self.records], 1)
        for record in self.records:
            tally.add(record)
        metrics = {key: value.to_json() for key, value in tally.metrics((1,)).items()}
        summary = StageSummary("eval", "eval", 0.5, tally.counts(), metrics, dict(tally.totals()), model="kit")
        heard: list[Event] = [("trajectory_finished", ("eval", record)) for record in self.records]
        started: Event = ("stage_started", (StageInfo("eval", "eval", len(self.records)),))
        return [started, *heard, ("stage_finished", ("eval", summary.to_json()))]

    def finished(self, status: Status = "done") -> Event:
        return "run_finished", (status, run_summary("kit", status, [], 1.5))


def _real_run(directory: Path) -> _Run:
    from aworld_cli.agent.react import ReactAgent, ReactConfig
    from aworld_cli.recipe.schema import Sampling
    from aworld_cli.runtime.base import Episode
    from aworld_cli.runtime.episode import EpisodeRunner
    from aworld_cli.tool.toolset import ToolSet

    tools, agent = cast(ToolSet, KitTools()), ReactAgent(ReactConfig())
    runner = EpisodeRunner(KitEnvironment(), agent, EchoTokenModel(), tools, Sampling())

    async def main() -> list[dict[str, Any]]:
        tasks = KitEnvironment().tasks("test", 4)
        return [(await runner.run(Episode(task, 0, 1))).to_json() for task in tasks]

    directory.mkdir()
    return _Run(directory, asyncio.run(main()))


def _tell(title: str, reporter: Reporter, events: list[Event]) -> None:
    """Tell the events in order; what is raised, or changes what is told, fails the check."""
    __tracebackhide__ = True
    for name, arguments in events:
        before = copy.deepcopy(arguments)
        try:
            result = getattr(reporter, name)(*arguments)
        except AWorldError as error:
            if name == "run_started":
                skip(f"{title}: {error}")
            fail(f"{title}: {name}() raised {describe(error)}; the run tells it no more", error)
        except Exception as error:
            text = f"{title}: {name}() raised {describe(error)}; the run would warn of it and tell it no more"
            fail(text, error)
        if inspect.iscoroutine(result):
            result.close()  # or Python warns of it elsewhere
            fail(f"{title}: {name}() gave a coroutine, so nothing was done; write `def {name}`, it is not awaited")
        plain = [value for value in arguments if isinstance(value, Mapping)]
        require(
            plain == [value for value in before if isinstance(value, Mapping)] or _has_nan(plain),
            f"{title}: {name}() changed what it was given, which others hear of too; copy it first",
        )


def _has_nan(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_nan, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_nan, value))
    return isinstance(value, float) and value != value  # noqa: PLR0124


def _in_a_run(work: Callable[[_Run], None]) -> None:
    __tracebackhide__ = True
    with tempfile.TemporaryDirectory() as folder:
        work(_real_run(Path(folder, "run")))


def _hears(title: str, make: Make) -> None:
    def work(run: _Run) -> None:
        _tell(title, make(), [run.started(), *run.stage(), run.finished()])

    _in_a_run(work)


def _odd(title: str, make: Make) -> None:
    """NaN and infinity where a training has diverged, texts of any script, nulls, an episode that failed."""

    def work(run: _Run) -> None:
        record = run.records[0]
        text = "naïve 数 \N{BULLSEYE} \x00 \ud800 </script> %s {}"
        failed = {**record, "outcome": "error", "grade": None, "error": {"kind": "model", "message": text}}
        graded = {**record, "grade": {"reward": 1.0, "correct": None, "details": {text: [text, None, float("nan")]}}}
        long = {**record, "answer": text * 10_000, "extra": {"step": 3}, "turns": [], "sequences": []}
        totals = {"loss": float("nan"), "grad": float("inf"), "steps": 0}
        trained = StageSummary("train", "train", 0.0, totals=totals).to_json()
        heard: list[Event] = [("trajectory_finished", ("train", one)) for one in (failed, graded, long)]
        started: Event = ("stage_started", (StageInfo("train", "train", None),))
        _tell(title, make(), [run.started(), started, *heard, ("stage_finished", ("train", trained)), run.finished()])

    _in_a_run(work)


def _resumed(title: str, make: Make) -> None:
    def work(run: _Run) -> None:
        _tell(title, make(), [run.started(), run.finished("failed")])
        _tell(title, make(), [run.started(resumed=True), *run.stage()[:-1], run.finished("stopped")])
        _tell(title, make(), [run.started(resumed=True), *run.stage(), run.finished()])

    _in_a_run(work)


def _closes(title: str, make: Make) -> None:
    import psutil

    def opened() -> set[str]:
        return {file.path for file in psutil.Process().open_files()}

    def work(run: _Run) -> None:
        before, reporter = opened(), make()
        _tell(title, reporter, [run.started(), *run.stage(), run.finished()])
        left = sorted(opened() - before)
        require(not left, f"{title}: still has {left} open after run_finished(); close it there, it always comes")

    _in_a_run(work)


def _quick(title: str, make: Make) -> None:
    def work(run: _Run) -> None:
        reporter = make()
        _tell(title, reporter, [run.started(), run.stage()[0]])
        began = time.monotonic()
        for number in range(_MANY):
            reporter.trajectory_finished("eval", run.records[number % len(run.records)])
        seconds = time.monotonic() - began
        _tell(title, reporter, [run.finished()])
        require(
            seconds < _SECONDS,
            f"{title}: hearing of {_MANY} episodes took {seconds:.0f} s, while the run waits; hand them to a thread",
        )

    _in_a_run(work)
