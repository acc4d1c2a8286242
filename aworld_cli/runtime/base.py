"""The interface of runtimes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from aworld_cli.environment.base import Task
from aworld_cli.trajectory.record import EpisodeId, Trajectory


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt to make: a task, which of its samples, and the seed that all its randomness derives from."""

    task: Task
    sample: int
    seed: int

    @property
    def id(self) -> EpisodeId:
        """The episode's identity."""
        return EpisodeId(self.task.id, self.task.hash, self.sample)


Execute = Callable[[Episode], Awaitable[Trajectory]]


class Runtime(Protocol):
    """Runs episodes; every episode that it takes comes out exactly once, finished or failed, unless the run stops."""

    name: str

    def run(self, episodes: Iterable[Episode], execute: Execute) -> AsyncGenerator[Trajectory, None]:
        """Yield trajectories as episodes end, in the order in which they end."""
        ...

    async def settle(self, episode: Episode, execute: Execute) -> Trajectory:
        """Run one episode under the same cap, deadline and retries, for trainers that decide what runs next."""
        ...
