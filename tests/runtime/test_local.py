"""The local runtime: every episode leaves once, and one that fails harms no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from aworld_cli.environment.base import Task
from aworld_cli.errors import EpisodeError, MachineError
from aworld_cli.runtime.base import Episode
from aworld_cli.runtime.episode import checked
from aworld_cli.runtime.local import LocalConfig, LocalRuntime
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Grade, Trajectory


def episodes(count: int) -> list[Episode]:
    return [Episode(Task(str(n), (Message("user", str(n)),)), 0, n) for n in range(count)]


def collect(
    execute: Callable[[Episode], Awaitable[Trajectory]], count: int = 8, **options: float
) -> tuple[list[Trajectory], BaseException | None]:
    """Run episodes; return what was yielded, and what the run ended with."""
    config = LocalConfig.model_validate({"concurrency": 4, "retry_pause": 0, **options})
    found: list[Trajectory] = []

    async def main() -> None:
        async for trajectory in LocalRuntime(config).run(episodes(count), execute):
            found.append(trajectory)

    try:
        asyncio.run(main())
    except Exception as error:
        return found, error
    return found, None


def good(episode: Episode) -> Trajectory:
    return Trajectory(episode.id, "answered", "m", episode.seed)


def test_every_episode_leaves_once() -> None:
    async def execute(episode: Episode) -> Trajectory:
        await asyncio.sleep(0.001 * (episode.seed % 3))
        return good(episode)

    found, error = collect(execute, 50)
    assert error is None and sorted(int(t.episode.task) for t in found) == list(range(50))


def test_concurrency_is_reached_and_kept() -> None:
    now, most = 0, 0

    async def execute(episode: Episode) -> Trajectory:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.002)
        now -= 1
        return good(episode)

    collect(execute, 40)
    assert most == 4


def test_infrastructure_is_tried_again_up_to_a_bound() -> None:
    tries: dict[int, int] = {}

    async def execute(episode: Episode) -> Trajectory:
        tries[episode.seed] = tries.get(episode.seed, 0) + 1
        if tries[episode.seed] <= episode.seed:
            raise EpisodeError("model", "down")
        return good(episode)

    found, _ = collect(execute, 5)
    assert tries == {0: 1, 1: 2, 2: 3, 3: 3, 4: 3}
    assert {int(t.episode.task): (t.outcome, t.attempts) for t in found} == {
        0: ("answered", 1),
        1: ("answered", 2),
        2: ("answered", 3),
        3: ("error", 3),
        4: ("error", 3),
    }


def test_an_unknown_exception_is_that_episodes_alone() -> None:
    async def execute(episode: Episode) -> Trajectory:
        if episode.seed == 3:
            raise ValueError("a plugin's fault")
        return good(episode)

    found, error = collect(execute)
    assert error is None and len(found) == 8
    (bad,) = [t for t in found if t.outcome == "error"]
    assert bad.error is not None and bad.attempts == 1
    assert bad.error["kind"] == "plugin" and bad.error["message"] == "ValueError: a plugin's fault"
    assert "Traceback" in bad.error["traceback"]


def test_what_is_finished_is_handed_out_before_a_fatal_failure() -> None:
    async def execute(episode: Episode) -> Trajectory:
        await asyncio.sleep(0.01)
        if episode.seed in (1, 2):
            raise EpisodeError("model", "the key is refused", fatal=True)
        return good(episode)

    found, error = collect(execute, 4)
    assert isinstance(error, MachineError) and "the key is refused" in str(error)
    assert sorted(int(t.episode.task) for t in found) == [0, 3]


def test_the_deadline_is_told_from_a_plugins_own_timeout() -> None:
    async def execute(episode: Episode) -> Trajectory:
        if episode.seed == 0:
            raise TimeoutError("mine")
        await asyncio.sleep(60)
        return good(episode)

    found, _ = collect(execute, 2, episode_timeout=0.05)
    kinds = {t.episode.task: (t.error or {})["kind"] for t in found}
    assert kinds == {"0": "plugin", "1": "timeout"}
    assert all(t.attempts == 1 for t in found)


def test_a_failed_episode_keeps_what_it_had_done() -> None:
    async def execute(episode: Episode) -> Trajectory:
        error = EpisodeError("tool", "down", retryable=False)
        error.trajectory = Trajectory(episode.id, "error", "m", 0, messages=[Message("user", "said before")])
        raise error

    (found, *_), _ = collect(execute, 1)
    assert found.messages[0].content == "said before" and found.error == {"kind": "tool", "message": "down"}


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_reward_that_is_none(reward: float) -> None:
    with pytest.raises(EpisodeError, match=r"not in \[0, 1\]"):
        checked(Grade(reward))
