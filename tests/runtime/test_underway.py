"""The table of episodes in flight: who is in it, since when, and what they wait for."""

from __future__ import annotations

import asyncio
import time

import pytest

from aworld_cli import underway
from aworld_cli.environment.base import Task
from aworld_cli.errors import EpisodeError
from aworld_cli.runtime.base import Episode
from aworld_cli.runtime.local import LocalConfig, LocalRuntime
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Trajectory


def episode(name: str, sample: int = 0) -> Episode:
    return Episode(Task(name, (Message("user", name),)), sample, 0)


def phases() -> list[tuple[str, int, int, int, str]]:
    now = time.monotonic()
    return [
        (entry.task, entry.sample, entry.attempt, entry.turn, entry.waits_for(now).rsplit(" ", 2)[0])
        for entry in underway.snapshot()
    ]


def test_an_episode_is_in_the_table_while_it_is_in_flight() -> None:
    seen: list[list[tuple[str, int, int, int, str]]] = []

    async def execute(given: Episode) -> Trajectory:
        with underway.phase("the model", turn=3):
            await asyncio.sleep(0.02 if given.task.id == "a" else 0.5)
            seen.append(phases())
        with underway.calling("add"):
            seen.append(phases())
        return Trajectory(given.id, "answered", "m", 0)

    async def main() -> None:
        runtime = LocalRuntime(LocalConfig(concurrency=2))
        async for _ in runtime.run([episode("a"), episode("b", 1)], execute):
            pass

    asyncio.run(main())
    assert seen[0] == [("a", 0, 1, 3, "the model"), ("b", 1, 1, 3, "the model")]
    assert seen[1] == [("a", 0, 1, 3, "tool call add"), ("b", 1, 1, 3, "the model")]
    assert underway.count() == 0 and underway.oldest() is None


def test_retries_and_slots_are_what_an_episode_can_wait_for() -> None:
    seen: dict[str, list[tuple[str, int, int, int, str]]] = {}

    async def execute(given: Episode) -> Trajectory:
        await asyncio.sleep(0.01)
        raise EpisodeError("model", "down")

    async def main() -> None:
        runtime = LocalRuntime(LocalConfig(concurrency=1, attempts=2, retry_pause=20))
        first = asyncio.create_task(runtime.settle(episode("a"), execute))
        second = asyncio.create_task(runtime.settle(episode("b"), execute))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        seen["at first"] = phases()
        await asyncio.sleep(0.1)
        seen["then"] = phases()
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.sleep(0)
        assert [entry.task for entry in underway.snapshot()] == ["b"]
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    asyncio.run(main())
    assert seen["at first"] == [("a", 0, 1, 0, "its start"), ("b", 0, 1, 0, "a free slot (runtime.concurrency)")]
    assert seen["then"][0] == ("a", 0, 1, 0, "attempt 2")
    assert underway.count() == 0


@pytest.mark.parametrize("outside", [True, False])
def test_what_is_no_episode_leaves_no_trace(outside: bool) -> None:
    with underway.phase("the model"), underway.calling("add"):
        assert underway.count() == 0


def test_the_table_costs_next_to_nothing() -> None:
    async def main() -> float:
        began = time.process_time()
        for number in range(2_000):
            with underway.episode("t", number), underway.phase("the model", turn=1):
                pass
        return (time.process_time() - began) / 2_000

    assert min(asyncio.run(main()) for _ in range(3)) < 100e-6
