"""The record of one episode. Every record carries `schema_version`; ids only ever grow within a sequence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from aworld_cli.trajectory.message import Message

SCHEMA_VERSION = 1
Outcome = Literal["answered", "limit", "error", "cancelled"]


@dataclass(frozen=True, slots=True)
class EpisodeId:
    """What makes an episode itself: the task, the hash of the task's data, the sample's index."""

    task: str
    hash: str
    sample: int

    def to_json(self) -> dict[str, Any]:
        return {"task": self.task, "hash": self.hash, "sample": self.sample}


@dataclass(slots=True)
class TokenSequence:
    """Token ids of one uninterrupted context, exactly as they were sampled.

    Shapes: `response_ids`, `loss_mask` and `logprobs` have equal length; `loss_mask` is 1 on sampled tokens only.
    `logprobs` are natural logarithms at the sampling temperature, 0.0 where the mask is 0, and None for a
    sequence whose text a model without token ids wrote (a teacher).
    """

    prompt_ids: list[int]
    response_ids: list[int] = field(default_factory=list)
    loss_mask: list[int] = field(default_factory=list)
    logprobs: list[float] | None = field(default_factory=list)

    def extend(self, ids: list[int], *, sampled: bool, logprobs: list[float] | None = None) -> None:
        """Append ids: sampled ones with their log-probabilities, or others, which carry no loss."""
        self.response_ids += ids
        self.loss_mask += [int(sampled)] * len(ids)
        if self.logprobs is not None:
            self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)

    @property
    def ids(self) -> list[int]:
        """Prompt and response together."""
        return self.prompt_ids + self.response_ids

    def to_json(self) -> dict[str, Any]:
        logprobs = None if self.logprobs is None else [round(value, 7) for value in self.logprobs]
        return {
            "prompt_ids": self.prompt_ids,
            "response_ids": self.response_ids,
            "loss_mask": self.loss_mask,
            "logprobs": logprobs,
        }


@dataclass(frozen=True, slots=True)
class Grade:
    """Reward in [0, 1], whether the answer is correct where that is defined, and what explains it."""

    reward: float
    correct: bool | None = None
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"reward": self.reward, "correct": self.correct, "details": self.details}


@dataclass(slots=True)
class Turn:
    """One model call and the tool calls it asked for; times in seconds, counts in tokens."""

    model_seconds: float
    tool_seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    stop: str = "stop"
    tool_calls: int = 0
    tool_errors: int = 0

    def to_json(self) -> dict[str, Any]:
        return {
            "model_seconds": round(self.model_seconds, 4),
            "tool_seconds": round(self.tool_seconds, 4),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "stop": self.stop,
            "tool_calls": self.tool_calls,
            "tool_errors": self.tool_errors,
        }


@dataclass(slots=True)
class Trajectory:
    """What an episode leaves on record."""

    episode: EpisodeId
    outcome: Outcome
    model: str
    seed: int
    answer: str | None = None
    grade: Grade | None = None
    messages: list[Message] = field(default_factory=list)
    sequences: list[TokenSequence] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    limit: str | None = None
    error: dict[str, Any] | None = None
    attempts: int = 1
    seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the record that the journal writes."""
        return {
            "schema_version": SCHEMA_VERSION,
            "episode": self.episode.to_json(),
            "outcome": self.outcome,
            "model": self.model,
            "seed": self.seed,
            "answer": self.answer,
            "grade": None if self.grade is None else self.grade.to_json(),
            "messages": [message.to_json() for message in self.messages],
            "sequences": [sequence.to_json() for sequence in self.sequences],
            "turns": [turn.to_json() for turn in self.turns],
            "limit": self.limit,
            "error": self.error,
            "attempts": self.attempts,
            "seconds": round(self.seconds, 4),
            **({"extra": self.extra} if self.extra else {}),
        }
