"""The interface of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from aworld_cli.environment.base import Task
from aworld_cli.model.base import ModelSession
from aworld_cli.tool.base import ToolResult, ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall
from aworld_cli.trajectory.record import Turn


@dataclass(slots=True)
class Attempt:
    """What an agent made of a task; filled in as it goes, so that the record of a failed one still shows its turns.

    Args:
        answer: the answer so far; where the model's context is full, it is what is graded.
        limit: the limit that was met, a key of `LIMITS` or another word of the agent's own.
    """

    outcome: Literal["answered", "limit"] = "answered"
    answer: str | None = None
    limit: str | None = None
    turns: list[Turn] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What an agent works with in one episode."""

    task: Task
    open_session: Callable[[Sequence[Message]], ModelSession]
    tools: Sequence[ToolSpec]
    call_tool: Callable[[ToolCall], Awaitable[ToolResult]]


class Agent(Protocol):
    """Attempts tasks; one object serves many episodes at once and keeps no state between them."""

    name: str

    def opening(self, task: Task) -> list[Message]:
        """Return the messages that an episode starts with."""
        ...

    async def attempt(self, context: AgentContext, attempt: Attempt) -> None:
        """Work on the task until it is answered or a limit is reached.

        A ContextOverflow that the session raises may pass: the episode then ends with the limit `context`.
        Raises EpisodeError.
        """
        ...
