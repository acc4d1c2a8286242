"""The contracts between verl's loop and whoever runs episodes: what goes in, what comes out."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


class Generation(Protocol):
    """Sampled tokens: `ids` and `logprobs` have one length; `stop_reason` is stop, length or abort."""

    ids: list[int]
    logprobs: list[float]
    stop_reason: str


class PromptTooLong(Exception):
    """The prompt leaves no room in the model's context."""


@dataclass(slots=True)
class Sampled:
    """A `Generation` made by this package."""

    ids: list[int]
    logprobs: list[float]
    stop_reason: str


class Generate(Protocol):
    """Samples from the policy being trained; safe to call from many tasks of one event loop."""

    async def __call__(
        self,
        prompt_ids: list[int],
        *,
        max_tokens: int,
        temperature: float,
        top_p: float,
        seed: int,
        request_id: str,
        stop_ids: Sequence[int] = (),
    ) -> Generation:
        """Continue `prompt_ids` by at most `max_tokens`; the model's own end tokens always stop.

        `request_id` stays the same for all turns of an episode (a server may keep its cache).
        Raises PromptTooLong.
        """
        ...


@dataclass(slots=True)
class Sample:
    """One sequence to train on. `loss_mask` and `logprobs` are as long as `response_ids`.

    `loss_mask` is 1 on tokens that the policy sampled and 0 on what it was shown. `info` holds
    numbers that are averaged over the step for the record, such as {"correct": 1.0}.
    """

    prompt_ids: list[int]
    response_ids: list[int]
    loss_mask: list[int]
    logprobs: list[float]
    reward: float
    turns: int = 1
    info: dict[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Raise ValueError unless the sample can be trained on."""
        n = len(self.response_ids)
        if not self.prompt_ids or not n:
            raise ValueError("a sample needs at least one prompt token and one response token")
        if len(self.loss_mask) != n or len(self.logprobs) != n:
            raise ValueError(f"lengths differ: {n} tokens, {len(self.loss_mask)} mask, {len(self.logprobs)} logprobs")


@runtime_checkable
class EpisodeSource(Protocol):
    """Runs episodes for the trainer. All methods are called on one event loop."""

    async def start(self) -> None:
        """Open what episodes need. Called once, before the first episode."""
        ...

    async def close(self) -> None:
        """Release everything. Called once, also after a failed run."""
        ...

    async def episode(self, task_id: str, sample: int, step: int, validate: bool, generate: Generate) -> list[Sample]:
        """Run one episode and return its sequences; the last one's reward counts for all.

        Raises on infrastructure failure, after whatever retries the source makes. It may be
        cancelled when a sibling of its group fails.
        """
        ...


def load_source(name: str, settings: Mapping[str, Any]) -> EpisodeSource:
    """Build the source named `module:attr`, calling the attribute with the settings (a dict)."""
    module, _, attr = name.partition(":")
    if not module or not attr:
        raise ValueError(f"episode source {name!r} is not of the form 'module:attr'")
    source: EpisodeSource = getattr(importlib.import_module(module), attr)(dict(settings))
    return source
