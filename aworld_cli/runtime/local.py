"""The built-in runtime: many episodes at a time in this process, on asyncio."""

from __future__ import annotations

import asyncio
import random
import time
import traceback
from collections.abc import AsyncGenerator, Iterable

from pydantic import BaseModel, ConfigDict, Field

from aworld_cli import underway
from aworld_cli.errors import AWorldError, EpisodeError, MachineError
from aworld_cli.resources import Resources
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

    An episode that fails for infrastructure's sake is tried again, `attempts` times in all, then recorded as `error`;
    one that runs out of time, or meets an exception that no contract knows, is recorded at once. Neither stops others.
    """

    name = "local"

    def __init__(self, config: LocalConfig) -> None:
        self.config = config
        self._slots = asyncio.Semaphore(config.concurrency)

    def resources(self) -> Resources:
        """Nothing beside this process."""
        return Resources(limits=("concurrency", "attempts", "episode_timeout", "retry_pause"))

    async def run(self, episodes: Iterable[Episode], execute: Execute) -> AsyncGenerator[Trajectory, None]:
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
                # What is finished is handed out before any failure stops the rest.
                failures = [task.exception() for task in done]
                for task, failure in zip(done, failures, strict=True):
                    if failure is None:
                        yield task.result()
                for failure in failures:
                    if failure is not None:
                        raise failure
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def settle(self, episode: Episode, execute: Execute) -> Trajectory:
        """See `Runtime.settle`."""
        with underway.episode(episode.task.id, episode.sample):
            with underway.phase("a free slot (runtime.concurrency)"):
                await self._slots.acquire()
            try:
                return await self._settle(episode, execute)
            finally:
                self._slots.release()

    async def _settle(self, episode: Episode, execute: Execute) -> Trajectory:
        with underway.episode(episode.task.id, episode.sample) as entry:
            return await self._try(episode, execute, entry)

    async def _try(self, episode: Episode, execute: Execute, entry: underway.Underway) -> Trajectory:
        started = time.monotonic()
        for attempt in range(1, self.config.attempts + 1):
            entry.attempt, entry.turn = attempt, 0
            try:
                trajectory = await self._attempt(episode, execute)
                break
            except EpisodeError as error:
                if error.fatal:
                    raise MachineError(str(error)) from error
                if not error.retryable or attempt == self.config.attempts:
                    trajectory = failed(episode, error)
                    break
            pause = self.config.retry_pause * 2 ** (attempt - 1)
            with underway.phase(f"attempt {attempt + 1}"):
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
        trajectory.attempts = attempt
        trajectory.seconds = time.monotonic() - started
        return trajectory

    async def _attempt(self, episode: Episode, execute: Execute) -> Trajectory:
        deadline = asyncio.timeout(self.config.episode_timeout)
        try:
            async with deadline:
                return await execute(episode)
        except (EpisodeError, AWorldError):
            raise
        except (Exception, SystemExit) as error:  # what a plugin calls may call sys.exit, which would end the run
            if deadline.expired():
                text = f"not done within {self.config.episode_timeout:g} s"
                raise EpisodeError("timeout", text, retryable=False) from error
            unexpected = EpisodeError("plugin", f"{type(error).__name__}: {error}", retryable=False)
            unexpected.traceback = "".join(traceback.format_exception(error))
            raise unexpected from error


def failed(episode: Episode, error: EpisodeError) -> Trajectory:
    """Return the record of an episode whose infrastructure failed, with what it had done by then."""
    trajectory: Trajectory = error.trajectory or Trajectory(episode.id, "error", "", episode.seed)
    trajectory.outcome = "error"
    trajectory.grade = None
    trajectory.error = {"kind": error.kind, "message": str(error)}
    if error.traceback:
        trajectory.error["traceback"] = error.traceback
    return trajectory


def local(config: LocalConfig) -> LocalRuntime:
    """Make the runtime."""
    return LocalRuntime(config)
