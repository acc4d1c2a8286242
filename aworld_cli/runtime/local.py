"""The built-in runtime: many episodes at a time in this process, on asyncio."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Iterable

from pydantic import BaseModel, ConfigDict, Field

from aworld_cli.errors import EpisodeError, MachineError
from aworld_cli.runtime.base import Episode, Execute
from aworld_cli.trajectory.record import Trajectory


class LocalConfig(BaseModel):
    """Options of `runtime: {kind: local}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    concurrency: int = Field(64, ge=1, le=100_000, description="Most episodes at a time.")
    attempts: int = Field(3, ge=1, le=20, description="Tries of an episode whose infrastructure fails.")
    episode_timeout: float = Field(3_600, gt=0, description="Seconds that one attempt of an episode may take.")
    retry_pause: float = Field(0.5, ge=0, description="Seconds before the second try; they double with each one more.")


class LocalRuntime:
    """Keeps `concurrency` episodes going until none is left.

    An episode that fails for infrastructure's sake is tried again `attempts` times in all, then recorded as `error`.
    """

    name = "local"

    def __init__(self, config: LocalConfig) -> None:
        self.config = config
        self._slots = asyncio.Semaphore(config.concurrency)

    async def run(self, episodes: Iterable[Episode], execute: Execute) -> AsyncIterator[Trajectory]:
        """See `Runtime.run`. Raises MachineError when a failure says that no episode can succeed."""
        waiting = iter(episodes)
        running: set[asyncio.Task[Trajectory]] = set()
        try:
            while True:
                while len(running) < self.config.concurrency:
                    episode = next(waiting, None)
                    if episode is None:
                        break
                    running.add(asyncio.create_task(self._settle(episode, execute)))
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def settle(self, episode: Episode, execute: Execute) -> Trajectory:
        """See `Runtime.settle`."""
        async with self._slots:
            return await self._settle(episode, execute)

    async def _settle(self, episode: Episode, execute: Execute) -> Trajectory:
        started = time.monotonic()
        for attempt in range(1, self.config.attempts + 1):
            try:
                async with asyncio.timeout(self.config.episode_timeout):
                    trajectory = await execute(episode)
                trajectory.attempts = attempt
                trajectory.seconds = time.monotonic() - started
                return trajectory
            except TimeoutError:
                error = EpisodeError("timeout", f"not done within {self.config.episode_timeout:g} s")
            except EpisodeError as failure:
                if failure.fatal:
                    raise MachineError(str(failure)) from failure
                error = failure
            if not error.retryable or attempt == self.config.attempts:
                break
            pause = self.config.retry_pause * 2 ** (attempt - 1)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        return Trajectory(
            episode=episode.id,
            outcome="error",
            model="",
            seed=episode.seed,
            error={"kind": error.kind, "message": str(error)},
            attempts=attempt,
            seconds=time.monotonic() - started,
        )


def local(config: LocalConfig) -> LocalRuntime:
    """Make the runtime."""
    return LocalRuntime(config)
