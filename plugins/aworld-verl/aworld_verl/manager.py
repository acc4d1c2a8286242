"""verl's agent-loop manager (`agent_loop_manager_class`): all episodes of a step on one event loop.

Invariant: every group that verl hands over ends as `finished` or `failure` in TransferQueue,
whatever is raised here; otherwise verl's replay buffer would wait for ever.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from typing import Any

import transfer_queue as tq

from aworld_verl import sampler
from aworld_verl.batch import Group, Row, rows_of, tags_of, tensors_of
from aworld_verl.cpu import policy
from aworld_verl.episodes import EpisodeSource, Generate, Sample
from aworld_verl.generate import LocalGenerate
from aworld_verl.host import EpisodeHost
from aworld_verl.settings import TrainSettings, load_settings
from aworld_verl.stats import StepStats, record

logger = logging.getLogger(__name__)


class GroupFailed(Exception):
    """A group had a failed episode; the cause is the first one."""


class AworldLoopManager:
    """Runs a step's groups concurrently and puts their samples into TransferQueue at once."""

    def __init__(self, settings: TrainSettings, host: EpisodeHost, generate: Generate) -> None:
        self._settings = settings
        self._host = host
        self._generate = generate
        self._policy = policy.current() if isinstance(generate, LocalGenerate) else None

    @classmethod
    def create(
        cls, config: Any, llm_client: Any, teacher_client: Any = None, reward_loop_worker_handles: Any = None
    ) -> AworldLoopManager:
        """Called by verl's task runner once all workers are up."""
        settings = load_settings(config.actor_rollout_ref.rollout.custom["settings"])
        local = policy.current()
        if local is None:
            raise RuntimeError("the policy was not started in this process")
        return cls(settings, EpisodeHost.get(settings), LocalGenerate(local))

    def generate_sequences(self, prompts: Any) -> None:
        """Start the episodes of `prompts` and return; verl waits on its replay buffer.

        Raises if the weights of this step were not handed over or the source could not start:
        then nothing was started.
        """
        step, validate = int(_scalar(prompts, "global_steps", 0)), bool(_scalar(prompts, "validate", False))
        uids, tasks = list(prompts["uid"]), list(prompts["task_id"])
        groups = [Group(str(u), str(t), i) for i, (u, t) in enumerate(zip(uids, tasks, strict=True))]
        version = step if validate else step - 1
        if self._policy is not None:
            self._policy.load(version)
        source = self._host.source()
        self._host.submit(self._run(source, groups, step, version, validate))

    async def _run(self, source: EpisodeSource, groups: list[Group], step: int, version: int, validate: bool) -> None:
        partition = "val" if validate else "train"
        open_groups = {group.uid for group in groups}
        try:
            await _set_status(sorted(open_groups), partition, "running")
            results = await asyncio.gather(
                *(self._group(source, group, step, validate) for group in groups), return_exceptions=True
            )
            rows, stats = self._collect(groups, results, step)
            if rows:
                tags, fields = tags_of(rows, step, version), tensors_of(rows)
                await tq.async_kv_batch_put([row.key for row in rows], partition, fields=fields, tags=tags)
            finished = sorted({row.group.uid for row in rows})
            await _set_status(finished, partition, "finished")
            open_groups.difference_update(finished)
            record(stats)
            if not rows:
                sampler.abort(stats.first_error or RuntimeError(f"step {step} has no samples"))
        except BaseException as error:
            logger.exception("step %d could not be handed to verl", step)
            sampler.abort(error)
            raise
        finally:
            await self._end(sorted(open_groups), partition)

    async def _end(self, uids: list[str], partition: str) -> None:
        try:
            await asyncio.shield(_set_status(uids, partition, "failure"))
        except BaseException as error:
            # The queue itself is gone: nothing else can tell the trainer to stop waiting.
            sampler.abort(error)
        sampler.wake()

    async def _group(self, source: EpisodeSource, group: Group, step: int, validate: bool) -> list[list[Sample]]:
        """All episodes of one group; when one fails the others are cancelled."""
        count = 1 if validate else self._settings.samples
        tasks = [
            asyncio.ensure_future(source.episode(group.task_id, i, step, validate, self._generate))
            for i in range(count)
        ]
        try:
            episodes = await asyncio.gather(*tasks)
            for samples in episodes:
                _check(samples)
            return list(episodes)
        except Exception as error:
            raise GroupFailed(f"task {group.task_id}: {type(error).__name__}: {error}") from error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _collect(self, groups: list[Group], results: Sequence[Any], step: int) -> tuple[list[Row], StepStats]:
        rows: list[Row] = []
        errors: list[BaseException] = []
        for group, result in zip(groups, results, strict=True):
            if isinstance(result, BaseException):
                logger.error("step %d: group dropped: %s", step, result)
                errors.append(result)
            else:
                rows += rows_of(group, result)
        stats = StepStats.of(step, [parts[-1].sample for parts in _episodes(rows).values()], errors)
        if self._settings.shuffle_rewards:
            shuffle_rewards(rows, seed=self._settings.seed, step=step)
        return rows, stats


def _episodes(rows: list[Row]) -> dict[tuple[str, int], list[Row]]:
    """Return the rows of each episode, in order."""
    episodes: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        episodes.setdefault((row.group.uid, row.session), []).append(row)
    return episodes


def shuffle_rewards(rows: list[Row], *, seed: int, step: int) -> None:
    """Deal the step's rewards out to its episodes at random: a control that must not learn.

    The same seed and step give the same permutation; all parts of an episode keep one reward.
    """
    episodes = _episodes(rows)
    rewards = [parts[-1].reward for parts in episodes.values()]
    random.Random(f"{seed}:{step}").shuffle(rewards)
    for parts, reward in zip(episodes.values(), rewards, strict=True):
        for row in parts:
            row.reward = reward


def _check(samples: list[Sample]) -> None:
    if not samples:
        raise ValueError("an episode gave no samples")
    for sample in samples:
        sample.check()


def _scalar(prompts: Any, key: str, default: Any) -> Any:
    if key not in prompts:
        return default
    value = prompts[key]
    return getattr(value, "data", value)


async def _set_status(uids: list[str], partition: str, status: str) -> None:
    if uids:
        await tq.async_kv_batch_put(uids, partition, tags=[{"status": status} for _ in uids])
