"""Reporters and event hooks hear of a run in order, and cannot harm it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import AddPlugin, Aworld

Recipe = Callable[..., Path]

HOOKS = """
import json, pathlib
from aworld_cli.host import hookimpl
aworld_api = 1
def write(run, event, **more):
    with (run.directory / "heard.jsonl").open("a") as file:
        file.write(json.dumps([event, more]) + "\\n")
@hookimpl
def aworld_run_started(run):
    write(run, "run_started", resumed=run.resumed, stages=run.stages)
@hookimpl
def aworld_stage_started(run, stage):
    write(run, "stage_started", name=stage.name, total=stage.total)
@hookimpl
def aworld_trajectory_finished(run, stage, record):
    write(run, "trajectory_finished", stage=stage, outcome=record["outcome"])
@hookimpl
def aworld_stage_finished(summary, run):
    write(run, "stage_finished", name=summary["name"])
@hookimpl
def aworld_run_finished(run, status, summary):
    print("printed by a hook")
    write(run, "run_finished", status=status, stages=len(summary["stages"]))
"""
REPORTER = """
from aworld_cli.host import Component, hookimpl
from pydantic import BaseModel
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("reporter", "mine", "mine", __name__ + ":make", __name__ + ":Config")]
class Config(BaseModel):
    fails: str = ""
class Reporter:
    name = "mine"
    def __init__(self, fails):
        self.fails = fails
    def __getattr__(self, event):
        def hear(*arguments):
            if self.fails == event:
                raise KeyError(event)
            if self.fails == "cannot":
                from aworld_cli.errors import MachineError
                raise MachineError("no tracker here")
        return hear
def make(config):
    return Reporter(config.fails)
"""


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_plugin_hears_of_every_event_in_order(
    aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Recipe, tmp_path: Path
) -> None:
    add_plugin("tracker", HOOKS)
    done = aworld("run", teacher_recipe(tasks=3), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "done" and "printed by a hook" in done.stderr
    heard = lines(only_run(tmp_path) / "heard.jsonl")
    assert heard[0] == ["run_started", {"resumed": False, "stages": ["rollout", "eval"]}]
    assert heard[1] == ["stage_started", {"name": "rollout", "total": 3}]
    assert heard[-1] == ["run_finished", {"status": "done", "stages": 2}]
    assert Counter(event for event, _ in heard) == {
        "run_started": 1,
        "stage_started": 2,
        "trajectory_finished": 3 + 6,
        "stage_finished": 2,
        "run_finished": 1,
    }


def test_a_run_that_goes_on_says_so_and_tells_nothing_twice(
    aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Recipe, tmp_path: Path
) -> None:
    add_plugin("tracker", HOOKS)
    aworld("run", teacher_recipe(tasks=3))
    run = only_run(tmp_path)
    (run / "heard.jsonl").unlink()
    (run / "stages/02-eval/summary.json").unlink()
    assert aworld("run", "--resume", run).returncode == 0
    assert [event for event, _ in lines(run / "heard.jsonl")] == [
        "run_started",
        "stage_started",
        "stage_finished",
        "run_finished",
    ]
    assert lines(run / "heard.jsonl")[0][1]["resumed"] is True


def test_a_hook_that_fails_costs_a_warning_and_no_more(
    aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Recipe
) -> None:
    add_plugin("tracker", HOOKS.replace('write(run, "trajectory_finished"', '1 / 0, write(run, "x"'))
    done = aworld("run", teacher_recipe(tasks=2))
    assert done.returncode == 0
    said = [line for line in done.stderr.splitlines() if line.startswith("warning")]
    assert said == [
        "warning: plugin 'tracker' failed in trajectory_finished (ZeroDivisionError: division by zero); "
        "it hears no more"
    ]


@pytest.mark.parametrize("event", ["run_started", "stage_started", "trajectory_finished", "run_finished"])
def test_a_reporter_that_fails_costs_a_warning(
    event: str, aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Recipe
) -> None:
    add_plugin("mine", REPORTER)
    done = aworld("run", teacher_recipe(tasks=1), "--set", f"reporters=[{{kind: mine, fails: {event}}}]")
    assert done.returncode == 0, done.stderr
    assert f"warning: reporter 'mine' of aworld-mine failed in {event} (KeyError: '{event}')" in done.stderr


MEDDLING = """
import asyncio
from aworld_cli.host import hookimpl
aworld_api = 1
@hookimpl
def aworld_run_started(run):
    run.recipe.clear()
@hookimpl
def aworld_stage_finished(summary):
    summary["counts"].clear()
    summary["name"] = "other"
@hookimpl
def aworld_run_finished(summary):
    summary["stages"].clear()
    raise asyncio.CancelledError
"""


def test_a_reporter_that_changes_what_it_is_told_or_cancels_changes_no_result(
    aworld: Aworld, teacher_recipe: Recipe, add_plugin: AddPlugin
) -> None:
    add_plugin("meddling", MEDDLING)
    done = aworld("run", teacher_recipe(tasks=2), "--json")
    assert done.returncode == 0, done.stderr
    assert "failed in run_finished (CancelledError" in done.stderr
    assert [(stage["name"], stage["counts"]["selected"]) for stage in json.loads(done.stdout)["stages"]] == [
        ("rollout", 2),
        ("eval", 4),
    ]


def test_a_reporter_that_cannot_work_stops_the_run(
    aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Recipe
) -> None:
    add_plugin("mine", REPORTER)
    done = aworld("run", teacher_recipe(tasks=1), "--set", "reporters=[{kind: mine, fails: cannot}]")
    assert (done.returncode, "error: no tracker here" in done.stderr) == (6, True)


def test_the_events_file(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    done = aworld("run", teacher_recipe(tasks=2), "--set", "reporters=[{kind: events}, {kind: events, path: a/b}]")
    assert done.returncode == 0, done.stderr
    events = lines(only_run(tmp_path) / "events.jsonl")
    assert [event["event"] for event in events[:3]] == ["run_started", "stage_started", "trajectory_finished"]
    assert events[-1]["event"] == "run_finished" and events[-1]["status"] == "done"
    record = events[2]["record"]
    assert record["grade"]["correct"] is True and "messages" not in record
    assert len(lines(only_run(tmp_path) / "a/b")) == len(events)


def test_the_events_file_can_hold_whole_records(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    aworld("run", teacher_recipe(tasks=1), "--set", "reporters=[{kind: events, whole: true}]")
    events = lines(only_run(tmp_path) / "events.jsonl")
    assert events[2]["record"]["messages"][0]["role"] == "user"


def test_an_events_file_that_cannot_be_written(aworld: Aworld, teacher_recipe: Recipe) -> None:
    done = aworld("run", teacher_recipe(tasks=1), "--set", "reporters=[{kind: events, path: /proc/none/x}]")
    assert (done.returncode, "reporter events: /proc/none/x: cannot be written" in done.stderr) == (6, True)
