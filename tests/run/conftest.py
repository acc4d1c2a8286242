"""Runs in processes of their own, in front of a model server that takes its time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.testing.model_server import FakeModelServer

SLOW = """\
aworld: 1
name: slow
model: {{kind: openai, base_url: "{url}", model: fake, retry_pause: 0.01}}
tools: {tools}
environment: {{kind: arithmetic, digits: 2}}
runtime: {{kind: local, concurrency: {concurrency}}}
stages:
  - eval: {{split: test, tasks: {tasks}, samples: 2, k: [1, 2]}}
"""


def answer(messages: list[dict[str, Any]], seed: int) -> str:
    """Answer some tasks rightly and others wrongly, by their text alone."""
    expression = next(m["content"] for m in messages if m["role"] == "user").rstrip("=")
    left, sign, right = expression.partition("+") if "+" in expression else expression.partition("-")
    value = int(left) + int(right) if sign == "+" else int(left) - int(right)
    return str(value if value % 3 else value + 1)


class Running:
    """A run in a process group of its own, whose standard error is a file; `within` is a program that executes it."""

    def __init__(self, arguments: list[str], cwd: Path, *, within: tuple[str, ...] = ()) -> None:
        self.cwd = cwd
        self._path = cwd / "stderr.txt"
        with self._path.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*within, sys.executable, "-m", "aworld_cli", "run", *arguments],
                cwd=cwd,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
                env={**os.environ, "COLUMNS": "200"},
            )

    @property
    def said(self) -> str:
        """What it has written to standard error."""
        return self._path.read_text(errors="replace")

    @property
    def directory(self) -> Path:
        """Its run directory."""
        (found,) = (self.cwd / "runs").iterdir()
        return found

    def wait_for(self, condition: Callable[[], bool], seconds: float = 30) -> None:
        """Wait until something holds; fail when it takes long or the process has ended."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end and self.process.poll() is None, self.said
            time.sleep(0.01)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the whole group, as a terminal does."""
        os.killpg(self.process.pid, number)

    def end(self, seconds: float = 20) -> int:
        """Wait for the end; return the exit code. Nothing of it may be left, and no traceback shown."""
        code = self.process.wait(seconds)
        assert "Traceback" not in self.said, self.said
        return code

    def records(self) -> list[dict[str, Any]]:
        """Return what is on record."""
        paths = sorted(self.directory.glob("stages/*/trajectories.jsonl"))
        return [json.loads(line) for path in paths for line in path.read_text().splitlines()]

    def status(self) -> str:
        """Return the run's status on disk."""
        found: str = json.loads((self.directory / "summary.json").read_text())["status"]
        return found


Start = Callable[..., Running]


@pytest.fixture
def start(tmp_path: Path, no_strays: None) -> Iterator[Start]:
    """Start `aworld run` on a recipe's text; what still runs at the test's end is killed."""
    started: list[Running] = []

    def begin(text: str, *arguments: str, within: tuple[str, ...] = ()) -> Running:
        (tmp_path / "recipe.yaml").write_text(text)
        started.append(Running(["recipe.yaml", *arguments], tmp_path, within=within))
        return started[-1]

    yield begin
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
        running.process.communicate()


@pytest.fixture
def slow() -> Callable[..., str]:
    """Return the text of a recipe for a model server."""

    def text(server: FakeModelServer, *, tasks: int = 6, concurrency: int = 4, tools: str = "[]") -> str:
        return SLOW.format(url=server.base_url, tasks=tasks, concurrency=concurrency, tools=tools)

    return text
