"""What a stage says while its episodes end, and while none does."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aworld_cli import underway
from aworld_cli.cli.display import Display
from aworld_cli.run import tracking
from aworld_cli.run.clock import StageClock
from aworld_cli.run.tracking import Tracker
from aworld_cli.trainer.base import StageProgress
from tests.run.parts import Silence


class Hearer(Silence):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[StageProgress] = []

    def stage_progress(self, progress: StageProgress) -> None:
        self.heard.append(progress)


def tracker(listener: Silence, tmp_path: Path, total: int = 4) -> Tracker:
    context: Any = SimpleNamespace(listener=listener, clock=StageClock(tmp_path))
    return Tracker(context, total, 0)


def record(task: str, **more: Any) -> dict[str, Any]:
    return {
        "episode": {"task": task, "hash": "h", "sample": 0},
        "outcome": "answered",
        "limit": None,
        "grade": {"reward": 1.0},
        "turns": [],
        **more,
    }


@pytest.mark.parametrize("quiet", [0.0, 60.0])
def test_the_oldest_episode_is_shown_when_none_has_ended_for_a_while(
    quiet: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "QUIET_SECONDS", quiet)
    hearer = Hearer()

    async def main() -> None:
        async with tracker(hearer, tmp_path).watching():
            with underway.episode("q\n1", 3), underway.calling("search"), underway.episode("q2", 0):
                await asyncio.sleep(1.2)

    asyncio.run(main())
    notes = [progress.note for progress in hearer.heard]
    if quiet:
        assert notes == []
    else:
        assert [(p.done, p.total) for p in hearer.heard] == [(0, 4)]
        assert notes[0].startswith("waiting: the oldest episode, q 1#3, 1 s: tool call search 1.")


def test_the_first_failure_and_the_first_overflow_are_told_and_the_others_counted(tmp_path: Path) -> None:
    hearer = Hearer()
    track = tracker(hearer, tmp_path, 8)
    for number in range(2):
        track.advance(record(f"e{number}", outcome="error", grade=None, error={"kind": "model", "message": "a\nb"}))
        track.advance(record(f"c{number}", outcome="limit", limit="context", extra={"context": "too long"}))
        track.advance(record(f"t{number}", outcome="limit", limit="turns"))
    assert hearer.notes == [
        "warning: task 'e0' failed (model): a b",
        "warning: task 'c0' does not fit the model's context, and is graded as it is: too long",
    ]
    assert (track.errors, track.overflows, track.graded) == (2, 2, 4)


def test_off_a_terminal_waiting_is_told_ever_more_seldom(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    display = Display()
    display.stage_started("eval", "eval", 4)
    said = []
    for second in range(300):
        now += 1
        display.stage_progress(StageProgress(1, 4, {}, "waiting: the oldest episode"))
        if "waiting" in capsys.readouterr().err:
            said.append(second + 1)
    assert said == [5, 15, 35, 75, 135, 195, 255]
    now += 5
    display.stage_progress(StageProgress(2, 4, {}))
    assert "eval: 2/4" in capsys.readouterr().err
