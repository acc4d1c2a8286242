"""The interfaces of models.

A model is one of two things: a `TokenModel` takes token ids and gives token ids with log-probabilities (what training
needs), a `ChatModel` takes messages and gives a message. Agents see neither: they talk to a `ModelSession`, one an
episode, which keeps the conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import TokenSequence

if TYPE_CHECKING:
    from aworld_cli.model.codec import Codec

Stop = Literal["stop", "length", "tool_calls", "abort"]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How one reply is sampled; `seed` derives from the run's seed, the episode and the turn, never from order."""

    temperature: float
    top_p: float
    max_tokens: int
    seed: int


@dataclass(frozen=True, slots=True)
class Generation:
    """Sampled ids and the natural logarithm of each one's probability under the sampling distribution."""

    ids: list[int]
    logprobs: list[float]
    stop: Stop


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's turn; counts in tokens."""

    message: Message
    stop: Stop
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a chat model is asked; `tools` is empty when it must answer without one."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    params: SamplingParams


class Model(Protocol):
    """What every model is: named, started before its first request, closed after its last."""

    name: str

    async def start(self) -> None:
        """Get ready to answer. Raises MachineError when this machine cannot."""

    async def close(self) -> None:
        """Free what `start` took; must not fail when `start` did not run."""


@runtime_checkable
class TokenModel(Model, Protocol):
    """Token ids in, token ids and log-probabilities out."""

    codec: Codec

    async def generate(self, prompt_ids: list[int], params: SamplingParams, request_id: str) -> Generation:
        """Sample a continuation of `prompt_ids`; equal ids and seed give an equal continuation.

        `request_id` is the same for all turns of an episode (for servers that keep its cache).
        Raises EpisodeError when the model fails; ContextOverflow, which is one, when the ids do not fit its context.
        """
        ...


@runtime_checkable
class ChatModel(Model, Protocol):
    """Messages in, a message out."""

    async def complete(self, request: ChatRequest) -> Reply:
        """Answer. Raises EpisodeError when the model fails; ContextOverflow when the request does not fit."""
        ...


@runtime_checkable
class HasCheckpoint(Protocol):
    """A model with weights on this machine: it can be trained, and its tokens are known without starting it."""

    def check(self) -> None:
        """Look whether the weights are there, or can be made, without loading them. Raises MachineError."""

    async def ensure_checkpoint(self) -> Path:
        """Return its Hugging Face directory, made first if need be. Raises MachineError."""
        ...


class ModelSession(Protocol):
    """One episode's conversation with a model."""

    messages: list[Message]

    @property
    def sequences(self) -> list[TokenSequence]:
        """The exact tokens so far; empty for a model whose tokens are not known."""
        ...

    async def reply(self, *, turn: int, allow_tools: bool = True, max_tokens: int | None = None) -> Reply:
        """Have the model take its turn; its message is appended to the conversation.

        One that fails or is cancelled leaves the conversation as it was.

        Args:
            max_tokens: a bound on this reply that holds beside the recipe's own.

        Raises:
            ContextOverflow: the conversation no longer fits the model's context.
            EpisodeError: the model fails.
        """
        ...

    def observe(self, messages: Sequence[Message]) -> None:
        """Append tool results or user messages; what is appended before the next reply is one observation."""


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model's factory is given.

    Args:
        run_dir: the run's directory.
        seed: the recipe's seed.
        checkpoint: the Hugging Face directory that an earlier stage left; it takes the place of the model's own.
        corpus: gives the environment's own text, from which a policy made at run time learns its tokens.
        shared: what the stages of one run share; values with an async `close` are closed at its end.
    """

    run_dir: Path
    seed: int
    checkpoint: Path | None = None
    corpus: Callable[[], Iterable[str]] = field(default=lambda: ())
    shared: dict[str, Any] = field(default_factory=dict)
