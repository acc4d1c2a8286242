"""The limits of an episode: their options, their names on record, and what is left of them.

One place decides when a limit is met, so that every agent that keeps a `Budget` means the same by the same option.
Whatever the limit, one last reply without tools is then asked for; it is graded, and comes on top of the limits.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from pydantic import BaseModel, ConfigDict, Field

from aworld_cli.model.base import Reply
from aworld_cli.trajectory.message import ToolCall

#: What a record's `limit` may say, and what it means.
LIMITS: dict[str, str] = {
    "turns": "`max_turns` model calls are made, and the model asks for tools still",
    "tokens": "the replies have `max_tokens` tokens in all",
    "length": "a reply was cut at `sampling.max_tokens`, or where the model's context ends",
    "time": "`max_seconds` have passed; a model or tool call in progress is cancelled",
    "tool_calls": "the model asks for more tool calls than `max_tool_calls`",
    "invalid_calls": "`max_invalid_calls` tool calls in a row name no tool, or have no JSON object as arguments",
    "context": "the conversation no longer fits the model's context; what was answered before is graded",
}


class Limits(BaseModel):
    """Options that bound an episode; those that are absent bound nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = Field(8, ge=1, le=1_000, description="Most model calls before the last, tool-free one.")
    max_tokens: int | None = Field(
        None,
        ge=1,
        description="Most tokens of all replies before the last, tool-free one; as the model counts them.",
    )
    max_seconds: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Seconds after which the last, tool-free reply is asked for; a call in progress is cancelled.",
    )
    max_tool_calls: int | None = Field(None, ge=0, description="Most tool calls; further ones are not made.")
    max_invalid_calls: int | None = Field(
        None, ge=1, description="Most tool calls in a row that name no tool, or whose arguments are no JSON object."
    )


class Budget:
    """What is left of an episode's limits; made when the episode begins."""

    def __init__(self, limits: Limits, tools: Collection[str]) -> None:
        self.limits = limits
        self._tools = frozenset(tools)
        self._deadline = None if limits.max_seconds is None else time.monotonic() + limits.max_seconds
        self._turns = self._tokens = self._calls = self._invalid = 0
        self._refused = self._looping = False

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time is up, not below 0; None without a bound."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def tokens_left(self) -> int | None:
        """Tokens that the next reply may have, not below 0; None without a bound."""
        most = self.limits.max_tokens
        return None if most is None else max(0, most - self._tokens)

    def reached(self) -> str | None:
        """Return the name of a limit that is met, one of `LIMITS`; None when the work may go on."""
        if self._refused:
            return "tool_calls"
        if self._looping:
            return "invalid_calls"
        if self.seconds_left == 0:
            return "time"
        if self.tokens_left == 0:
            return "tokens"
        return "turns" if self._turns >= self.limits.max_turns else None

    def spend(self, reply: Reply) -> None:
        """Count a reply."""
        self._turns += 1
        self._tokens += reply.completion_tokens

    def allow(self, calls: Sequence[ToolCall]) -> int:
        """Count the calls that a reply asks for; return how many of them, the first ones, may be made."""
        most = self.limits.max_tool_calls
        allowed = len(calls) if most is None else min(len(calls), most - self._calls)
        self._calls += allowed
        self._refused = allowed < len(calls)
        for call in calls[:allowed]:
            valid = call.name in self._tools and call.arguments is not None
            self._invalid = 0 if valid else self._invalid + 1
            self._looping |= self._invalid == self.limits.max_invalid_calls
        return allowed
