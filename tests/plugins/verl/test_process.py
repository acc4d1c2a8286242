"""The training process from outside, with a script in its place: whose error it is, and who hears of SIGUSR1."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.errors import AWorldError, MachineError, RecipeError
from aworld_cli.run.waiting import WaitingReport
from aworld_verl import process
from aworld_verl.driver import _mend
from aworld_verl.settings import SettingsError
from aworld_verl.source import EpisodeFailed, OpeningTooLong

DRIVER = """
import json, os, sys, time
from pathlib import Path
from aworld_cli.run.waiting import WaitingReport
fd = int(sys.argv[sys.argv.index("--events-fd") + 1])
WaitingReport(title="the training process", logs=Path.cwd() / "logs", detailed=True).listen()
emit = lambda **event: os.write(fd, json.dumps(event).encode() + b"\\n")
emit(event="ready")
settings = json.loads(sys.stdin.readline())
if settings["error"] is not None:
    emit(event="error", **settings["error"])
else:
    while not list(Path("logs").glob("waiting-*.txt")):
        time.sleep(0.01)
    emit(event="done")
sys.stdin.read()
"""


def train(tmp_path: Path, error: dict[str, Any] | None) -> list[str]:
    async def main() -> list[str]:
        driver = process.DriverProcess(tmp_path / "logs" / "train.log")
        events: list[str] = []
        try:
            await driver.start()
            async for event in driver.train({"error": error}):
                events.append(event["event"])
                if event["event"] == "ready":
                    os.kill(os.getpid(), signal.SIGUSR1)
        finally:
            await driver.close()
        return events

    return asyncio.run(asyncio.wait_for(main(), 30))


@pytest.fixture(autouse=True)
def _script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_strays: None) -> None:
    (tmp_path / "driver.py").write_text(DRIVER)
    monkeypatch.setattr(process, "COMMAND", (sys.executable, str(tmp_path / "driver.py")))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("mend", "kind"), [("recipe", RecipeError), ("", MachineError), (None, MachineError)])
def test_an_error_is_the_recipes_where_the_driver_says_so(
    mend: str | None, kind: type[AWorldError], tmp_path: Path
) -> None:
    error = {"message": "the opening has 70 tokens"} | ({} if mend is None else {"mend": mend})
    with (
        WaitingReport().signals(),
        pytest.raises(kind, match="verl stopped: the opening has 70 tokens; see") as caught,
    ):
        train(tmp_path, error)
    assert caught.value.resumable is (kind is MachineError)


def test_what_must_be_mended_is_found_among_the_causes() -> None:
    def raised(cause: BaseException) -> BaseException:
        try:
            raise RuntimeError("task t") from cause  # as the manager does for a group
        except RuntimeError as error:
            return error

    assert _mend(raised(OpeningTooLong("70 tokens"))) == _mend(SettingsError("x")) == "recipe"
    assert _mend(raised(EpisodeFailed("down"))) == _mend(RuntimeError()) == ""


def test_sigusr1_is_passed_on_once_the_driver_listens(tmp_path: Path) -> None:
    began = time.monotonic()
    with WaitingReport(title="this run").signals():
        assert train(tmp_path, None) == ["ready", "done"]
        os.kill(os.getpid(), signal.SIGUSR1)  # the driver is gone: nobody else hears of it
    assert time.monotonic() - began < 20
    assert [path.name for path in (tmp_path / "logs").glob("waiting-*")] == ["waiting-1.txt"]
    assert "the training process: 0 episodes in flight" in (tmp_path / "logs" / "train.log").read_text()
    assert "thread MainThread" in (tmp_path / "logs" / "waiting-1.txt").read_text()
