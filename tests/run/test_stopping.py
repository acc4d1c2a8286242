"""Signals to a run, with real processes: what is in flight ends, the rest waits for --resume, the exit code holds."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.testing.model_replies import chat_completion
from aworld_cli.testing.model_server import FakeModelServer
from aworld_cli.trajectory.message import Message, ToolCall
from tests.conftest import AddPlugin, Aworld
from tests.run.conftest import Start, answer

Slow = Callable[..., str]
CODES = {signal.SIGINT: 130, signal.SIGTERM: 3, signal.SIGHUP: 3}


def in_flight(server: FakeModelServer, count: int) -> Callable[[], bool]:
    return lambda: server.counters.in_flight >= count


def call_then_answer(messages: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    """Ask the calculator first, so that a second turn and a tool call are still to come when the signal does."""
    if messages[-1]["role"] == "tool":
        return chat_completion(answer(messages, seed), "fake")
    expression = messages[0]["content"].rstrip("=")
    return chat_completion(Message("assistant", "", (ToolCall("c", "calculator", {"expression": expression}),)), "fake")


def figures(summary: dict[str, Any]) -> list[Any]:
    return [(stage["counts"], stage["metrics"]) for stage in summary["stages"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_lets_what_is_in_flight_end(number: signal.Signals, start: Start, slow: Slow) -> None:
    with FakeModelServer(chat=answer, latency=0.5) as server:
        run = start(slow(server))
        run.wait_for(in_flight(server, 4))
        run.send(number)
        assert run.end() == 3, run.said
        assert "stopping: 4 episodes in flight, up to 30 s; a second signal to stop now" in run.said
        assert run.said.splitlines()[-1] == f"error: stopped by {number.name}"
        assert [record["outcome"] for record in run.records()] == ["answered"] * 4
        assert run.status() == "stopped" and (server.counters.requests, server.counters.aborted) == (4, 0)


def test_a_run_that_was_interrupted_and_resumed_is_as_one_that_was_not(
    start: Start, slow: Slow, aworld: Aworld
) -> None:
    with FakeModelServer(chat=call_then_answer, latency=0.5) as server:
        run = start(slow(server, tools="[{kind: calculator}]"))
        run.wait_for(in_flight(server, 4))
        run.send(signal.SIGINT)
        assert run.end() == 130, run.said
        assert "stopping: 4 episodes in flight, up to 30 s; press Ctrl-C again to stop now" in run.said
        assert f"go on with: aworld run --resume {run.directory}" in run.said
        # Their second turn and their tool call came after the signal: the tool server outlived it.
        assert [(r["outcome"], r["turns"][0]["tool_errors"]) for r in run.records()] == [("answered", 0)] * 4
        before = server.counters.requests
        resumed = aworld("run", "--resume", run.directory, "--json")
        assert resumed.returncode == 0, resumed.stderr
        assert server.counters.requests - before == 2 * 8
        whole = aworld("run", "recipe.yaml", "--runs-dir", "whole", "--json")
    assert figures(json.loads(resumed.stdout)) == figures(json.loads(whole.stdout))
    assert json.loads(resumed.stdout)["stages"][0]["counts"]["wrong"] > 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_stops_now(number: signal.Signals, start: Start, slow: Slow) -> None:
    with FakeModelServer(latency=60) as server:
        run = start(slow(server))
        run.wait_for(in_flight(server, 4))
        run.send(number)
        run.wait_for(lambda: "stopping: 4 episodes in flight" in run.said)
        time.sleep(0.3)  # nearer than a quarter of a second they are one
        began = time.monotonic()
        run.send(signal.SIGTERM)
        assert run.end() == CODES[number], run.said
    assert time.monotonic() - began < 5
    assert "stopping now: 4 episodes cut short" in run.said and "--resume" in run.said
    assert run.status() == "stopped" and run.records() == []


def test_signals_while_the_process_ends_do_not_change_its_exit_code(start: Start, slow: Slow) -> None:
    with FakeModelServer(latency=60) as server:
        run = start(slow(server), "--grace", "0")
        run.wait_for(in_flight(server, 4))
        run.send(signal.SIGTERM)
        while "error: stopped by SIGTERM" not in run.said:
            time.sleep(0.001)
        while run.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                run.send(signal.SIGTERM)
            time.sleep(0.001)
        assert run.end() == 3, run.said


def test_sigusr1_does_not_end_a_run_that_is_done(start: Start, slow: Slow) -> None:
    with FakeModelServer(chat=answer) as server:
        run = start(slow(server, tasks=1))
        run.wait_for(lambda: "eval done in" in run.said)
        while run.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(run.process.pid, signal.SIGUSR1)
            time.sleep(0.001)
        assert run.end() == 0, run.said[-2000:]


def test_two_signals_at_once_are_one(start: Start, slow: Slow) -> None:
    with FakeModelServer(chat=answer, latency=1) as server:
        run = start(slow(server, tasks=2))
        run.wait_for(in_flight(server, 4))
        run.send(signal.SIGINT)
        time.sleep(0.05)
        run.send(signal.SIGINT)
        assert run.end() == 0, run.said  # all that there was to do was in flight
    assert len(run.records()) == 4 and run.status() == "done"


def test_the_grace_is_an_option_and_a_setting(start: Start, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, variable, said in (
        (["--grace", "0.5"], "20", "not done within 0.5 s"),
        ([], "0", "stopping now: 4 episodes cut short"),
    ):
        monkeypatch.setenv("AWORLD_GRACE", variable)
        with FakeModelServer(latency=60) as server:
            run = start(slow(server), *arguments, "--runs-dir", f"runs{variable}")
            run.wait_for(in_flight(server, 4))
            began = time.monotonic()
            run.send(signal.SIGINT)
            assert run.end() == 130
        assert said in run.said and time.monotonic() - began < 5


def test_a_wrong_grace_is_a_wrong_command_line(aworld: Aworld, slow: Slow, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("grace = -1\n")
    assert aworld("run", "recipe.yaml", "--grace", "-1").returncode == 2
    done = aworld("run", "recipe.yaml", env={"AWORLD_GRACE": "soon"})
    assert (done.returncode, "AWORLD_GRACE: " in done.stderr) == (2, True)


BLOCKING = """
import time
from pydantic import BaseModel
from aworld_cli.host import Component, hookimpl
from aworld_cli.environment import Task
from aworld_cli.trajectory import Grade, Message
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("environment", "blocking", "blocking", __name__ + ":environment", __name__ + ":Config")]
class Config(BaseModel):
    load: float = 0
class Environment:
    name = "blocking"
    def splits(self):
        return ("test",)
    def tasks(self, split, limit):
        return [Task("t", (Message("user", "x"),))]
    def grade(self, task, answer, messages):
        print("BLOCKED", flush=True)
        time.sleep(60)
        return Grade(1.0, True)
    def corpus(self):
        return ()
def environment(config):
    if config.load:
        print("LOADING", flush=True)
    time.sleep(config.load)
    return Environment()
"""
BLOCKED = """\
aworld: 1
name: blocked
model: {{kind: scripted, replies: [a]}}
environment: {{kind: blocking, load: {load}}}
stages: [{{eval: {{split: test}}}}]
"""


def test_the_third_signal_ends_a_process_whose_event_loop_hangs(start: Start, add_plugin: AddPlugin) -> None:
    add_plugin("blocking", BLOCKING)
    run = start(BLOCKED.format(load=0))
    run.wait_for(lambda: "BLOCKED" in run.said)
    run.send(signal.SIGUSR1)
    run.wait_for(lambda: "with all stacks: " in run.said)
    assert "its grade" in run.said
    assert " grade\n" in (run.directory / "logs" / "waiting-1.txt").read_text()  # the frame that blocks
    for _ in range(2):
        run.send(signal.SIGTERM)
        time.sleep(0.3)
    assert run.said.count("once more ends the process at once") == 1
    run.send(signal.SIGTERM)
    assert run.end() == 3
    assert "ended at once by SIGTERM; go on with: aworld run --resume" in run.said


@pytest.mark.parametrize("number", list(CODES))
def test_a_signal_before_the_run_has_begun(number: signal.Signals, start: Start, add_plugin: AddPlugin) -> None:
    add_plugin("blocking", BLOCKING)
    run = start(BLOCKED.format(load=60))
    run.wait_for(lambda: "LOADING" in run.said)
    run.send(number)
    assert run.end(5) == CODES[number]
    assert run.said.splitlines()[-1] == (
        "error: interrupted" if number == signal.SIGINT else f"error: stopped by {number.name}"
    )
    assert not (run.cwd / "runs").exists()


def test_what_nohup_ignores_stays_ignored(start: Start, slow: Slow) -> None:
    with FakeModelServer(chat=answer, latency=0.3) as server:
        run = start(slow(server, tasks=4), within=("nohup",))
        run.wait_for(in_flight(server, 4))
        run.send(signal.SIGHUP)
        assert run.end() == 0, run.said
    assert run.status() == "done"


HANGING = """
import asyncio
from pydantic import BaseModel
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    here = __name__
    return [
        Component("model", "hanging", "hanging", here + ":model", here + ":Config"),
        Component("trainer", "hanging", "hanging", here + ":Trainer", here + ":Config"),
    ]
class Config(BaseModel):
    start: float = 0
    close: float = 0
async def wait(what, seconds):
    if seconds:
        print(what, flush=True)
    await asyncio.sleep(seconds)
class Model:
    name = "hanging"
    def __init__(self, config):
        self.config = config
    async def start(self):
        await wait("STARTING", self.config.start)
    async def close(self):
        await wait("CLOSING", self.config.close)
    async def complete(self, request):
        from aworld_cli.model import Reply
        from aworld_cli.trajectory import Message
        return Reply(Message("assistant", "1"), "stop")
    def check(self):
        pass
    async def ensure_checkpoint(self):
        from pathlib import Path
        return Path()
def model(config, context):
    return Model(config)
class Trainer:
    name = "hanging"
    def __init__(self, config):
        pass
    def check(self, plan, tasks):
        return {}
    def preview(self, plan):
        return {}
    async def prepare(self, context):
        pass
    async def train(self, context):
        await wait("TRAINING", 60)
"""
HANG = """\
aworld: 1
name: hang
model: {{kind: hanging, start: {start}, close: {close}}}
environment: {{kind: arithmetic}}
stages: [{stage}]
"""


@pytest.mark.parametrize(
    ("mark", "said", "options"),
    [
        ("STARTING", "stopping: nothing is in flight", {"start": 60}),
        ("TRAINING", "stopping now: training cannot pause", {"stage": "{train: {kind: hanging, tasks: 1}}"}),
    ],
)
def test_what_cannot_end_by_itself_is_stopped_at_once(
    mark: str, said: str, options: dict[str, Any], start: Start, add_plugin: AddPlugin
) -> None:
    add_plugin("hanging", HANGING)
    values = {"start": 0, "close": 0, "stage": "{eval: {split: test, tasks: 1}}", **options}
    run = start(HANG.format(**values))
    run.wait_for(lambda: mark in run.said)
    run.send(signal.SIGINT)
    assert run.end(5) == 130
    assert said in run.said and "--resume" in run.said and run.status() == "stopped"


def test_signals_while_the_run_closes_do_not_change_what_it_came_to(start: Start, add_plugin: AddPlugin) -> None:
    add_plugin("hanging", HANGING)
    run = start(HANG.format(start=0, close=2, stage="{eval: {split: test, tasks: 1}}"), "--grace", "20")
    run.wait_for(lambda: "CLOSING" in run.said)
    run.send(signal.SIGTERM)
    assert run.end() == 3, run.said
    assert len(run.records()) == 1 and run.status() == "stopped"


def test_sigusr1_tells_what_each_episode_waits_for(start: Start, slow: Slow) -> None:
    with FakeModelServer(chat=answer, latency=2) as server:
        run = start(slow(server, tasks=2))
        run.wait_for(in_flight(server, 4))
        for number in (1, 2):
            os.kill(run.process.pid, signal.SIGUSR1)
            run.wait_for(lambda number=number: f"waiting-{number}.txt" in run.said)  # type: ignore[misc]
        assert run.end() == 0, run.said
    lines = run.said.splitlines()
    (first, *_) = [at for at, line in enumerate(lines) if "4 episodes in flight" in line]
    assert lines[first + 1].split() == ["age", "task", "sample", "attempt", "turn", "waiting", "for"]
    for line in lines[first + 2 : first + 6]:
        assert line.split()[1] == "s" and line.split()[3:8] == [line.split()[3], "1", "0", "the", "model"]
    written = (run.directory / "logs" / "waiting-1.txt").read_text()
    assert "OpenAIModel.complete" in written and "thread MainThread" in written and "  watch" in written
    assert len(run.records()) == 4


#: Makes the terminal on standard input the controlling one, then executes the rest of its command line.
CONTROLLED = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


def test_ctrl_c_at_a_terminal(slow: Slow, tmp_path: Path, no_strays: None) -> None:
    """The terminal itself sends the signal, to all of its foreground group, while the live display is up."""
    shown = ""
    with FakeModelServer(chat=call_then_answer, latency=0.5) as server:
        (tmp_path / "recipe.yaml").write_text(slow(server, tasks=50, tools="[{kind: calculator}]"))
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", CONTROLLED, sys.executable, "-m", "aworld_cli", "run", "recipe.yaml"],
            cwd=tmp_path,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "160"},
        )
        os.close(theirs)
        while data := _read(ours):
            shown += data.decode(errors="replace")
            if server.counters.in_flight >= 4 and "stopping" not in shown:
                os.write(ours, b"\x03")
                time.sleep(0.3)
        os.close(ours)
    assert process.wait(10) == 130, shown
    assert "stopping: 4 episodes in flight, up to 30 s; press Ctrl-C again to stop now" in shown
    assert "\x1b[?25l" in shown and shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")  # the cursor is back
    assert "Traceback" not in shown and "error: interrupted" in shown
    (run,) = (tmp_path / "runs").iterdir()
    records = [json.loads(line) for line in (run / "stages/01-eval/trajectories.jsonl").read_text().splitlines()]
    assert len(records) >= 4 and all(record["turns"][0]["tool_errors"] == 0 for record in records)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end is closed
        return b""
