"""What a tool component is (how to start an MCP server), what it offers, and what a call gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool as models see it; `input_schema` is JSON Schema."""

    name: str
    description: str
    input_schema: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the OpenAI form, which chat templates take too."""
        function = {"name": self.name, "description": self.description, "parameters": self.input_schema}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the agent observes; a tool that fails is an observation (`is_error`), not an episode error."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class StdioServer:
    """An MCP server as a process that speaks stdio.

    Args:
        name: what messages call it.
        command, args: the program; the process gets only `env` and HOME, LOGNAME, PATH, SHELL, TERM, USER.
        scope: "shared" (stateless, one process for all episodes).
        start_timeout, call_timeout: seconds.
    """

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    start_timeout: float = 30.0
    call_timeout: float = 120.0
    scope: Literal["shared"] = "shared"
