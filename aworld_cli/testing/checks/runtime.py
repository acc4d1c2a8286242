"""Runtimes: every episode comes out exactly once, whatever becomes of it, and nothing goes on after a stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Any

from aworld_cli.errors import EpisodeError, MachineError
from aworld_cli.host.registry import describe
from aworld_cli.runtime.base import Episode, Runtime
from aworld_cli.seeds import derive_seed
from aworld_cli.testing.check import Check
from aworld_cli.testing.stage import KitEnvironment
from aworld_cli.testing.subject import Subject
from aworld_cli.trajectory.record import Trajectory

_EPISODES = 60


def checks(subject: Subject) -> list[Check]:
    """Return the checks of a runtime."""
    return [
        subject.check("every episode comes out once", _once, seconds=120),
        subject.check("results do not depend on the order", _orderless, seconds=120),
        subject.check("settles one episode", _settles),
        subject.check("stops at a failure that none can survive", _fatal),
        subject.check("leaves nothing when stopped", _stopped),
    ]


def _episodes(number: int) -> list[Episode]:
    tasks = KitEnvironment().tasks("train", number)
    return [Episode(task, 0, derive_seed(1, task.id)) for task in tasks]


async def _answer(episode: Episode) -> Trajectory:
    """Take a moment that the episode's seed draws; every sixth fails, half of those by an unknown exception."""
    await asyncio.sleep(episode.seed % 7 / 1_000)
    kind = int(episode.task.id.partition("+")[0]) // 2 % 12
    if kind == 3:
        raise EpisodeError("model", "the kit's model is not available", retryable=False)
    if kind == 9:
        raise KeyError("a fault in a component")
    return Trajectory(episode.id, "answered", "kit", episode.seed, answer=f"{episode.task.id}:{episode.seed}")


async def _collect(subject: Subject, episodes: list[Episode]) -> list[Trajectory]:
    __tracebackhide__ = True
    runtime: Runtime = subject.make()
    ended: list[Trajectory] = []
    try:
        async with contextlib.aclosing(runtime.run(iter(episodes), _answer)) as running:
            async for trajectory in running:
                ended.append(trajectory)
    except Exception as error:
        subject.fail(
            f"run() raised {describe(error)} when an episode failed; record it (outcome 'error', `error` with kind and "
            "message) and go on",
            error,
        )
    return ended


def _once(subject: Subject) -> None:
    episodes = _episodes(_EPISODES)
    ended = asyncio.run(_collect(subject, episodes))
    count = Counter(trajectory.episode for trajectory in ended)
    lost = [episode.task.id for episode in episodes if episode.id not in count]
    subject.require(not lost, f"{len(lost)} of {_EPISODES} episodes never came out, of the tasks {lost[:5]}")
    twice = [one.task for one, times in count.items() if times > 1]
    subject.require(not twice, f"{len(twice)} episodes came out more than once, of the tasks {twice[:5]}")
    subject.require(len(count) == len(episodes), "episodes came out that never went in")
    for trajectory in ended:
        failed = int(trajectory.episode.task.partition("+")[0]) // 2 % 12 in (3, 9)
        subject.require(
            (trajectory.outcome == "error") == failed,
            f"the episode of {trajectory.episode.task!r} {'failed' if failed else 'worked'} and is recorded as "
            f"{trajectory.outcome!r}",
        )
        error = trajectory.error or {}
        subject.require(
            not failed or {"kind", "message"} <= set(error),
            f"a failed episode's error is {error}; give kind and message",
        )
        subject.require(not failed or trajectory.grade is None, "a failed episode is graded; its reward is none, not 0")
    subject.require(not asyncio.run(_collect(subject, [])), "episodes came out of none")


def _orderless(subject: Subject) -> None:
    def results(episodes: list[Episode]) -> dict[Any, Any]:
        return {one.episode: (one.outcome, one.answer, one.seed) for one in asyncio.run(_collect(subject, episodes))}

    episodes = _episodes(_EPISODES)
    subject.require(
        results(episodes) == results(episodes[::-1]), "what episodes come to depends on the order in which they go in"
    )


def _settles(subject: Subject) -> None:
    async def main() -> None:
        runtime: Runtime = subject.make()
        episodes = _episodes(12)
        settled = await asyncio.gather(*(runtime.settle(episode, _answer) for episode in episodes))
        same = [one.episode for one in settled] == [episode.id for episode in episodes]
        subject.require(same, "settle() gives another episode's trajectory")
        subject.require(any(one.outcome == "error" for one in settled), "settle() does not record a failed episode")

    asyncio.run(main())


async def _doomed(episode: Episode) -> Trajectory:
    raise EpisodeError("model", "the kit's key is refused", retryable=False, fatal=True)


def _fatal(subject: Subject) -> None:
    async def main() -> int:
        runtime: Runtime = subject.make()
        async with contextlib.aclosing(runtime.run(iter(_episodes(10)), _doomed)) as running:
            return len([trajectory async for trajectory in running])

    try:
        number = asyncio.run(main())
    except MachineError as error:
        subject.require("the kit's key is refused" in str(error), f"the MachineError does not say what failed: {error}")
    except Exception as error:
        subject.fail(f"a failure marked `fatal` raised {describe(error)}, not MachineError with its text", error)
    else:
        subject.fail(
            f"{number} episodes are recorded though each failed for a reason marked `fatal`: stop with MachineError, a "
            "run over all tasks is lost time"
        )


async def _hang(episode: Episode) -> Trajectory:
    await asyncio.sleep(0.01 if episode.task.id.startswith("1+") else 3_600)
    return await _answer(episode)


def _stopped(subject: Subject) -> None:
    async def main() -> None:
        runtime: Runtime = subject.make()
        async with contextlib.aclosing(runtime.run(iter(_episodes(10)), _hang)) as running:
            async for _ in running:
                break
        _nothing_left(subject, "its generator was closed")

        async def consume() -> None:
            async with contextlib.aclosing(subject.make().run(iter(_episodes(10)), _hang)) as running:
                async for _ in running:
                    pass

        task = asyncio.create_task(consume())
        await asyncio.sleep(0.05)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=10)
        subject.require(done and task.cancelled(), "run() does not end when it is cancelled")
        _nothing_left(subject, "it was cancelled")

    asyncio.run(main())


def _nothing_left(subject: Subject, when: str) -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    subject.require(not left, f"{len(left)} episodes go on after {when}; cancel them and wait for their end")
