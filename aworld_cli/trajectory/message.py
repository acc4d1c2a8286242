"""Chat messages, in the form that chat templates and OpenAI-compatible endpoints share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for.

    `arguments` is None when what the model wrote is not a JSON object; `raw` is what it wrote.
    """

    id: str
    name: str
    arguments: dict[str, Any] | None
    raw: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the OpenAI form, its arguments as a JSON text."""
        text = self.raw if self.arguments is None else json.dumps(self.arguments, ensure_ascii=False)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": text}}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation; `tool_call_id` and `name` belong to the role `tool`."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the OpenAI form."""
        value: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            value["tool_calls"] = [call.to_json() for call in self.tool_calls]
        if self.tool_call_id is not None:
            value["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            value["name"] = self.name
        return value

    @staticmethod
    def from_json(value: dict[str, Any]) -> Message:
        """Read the OpenAI form; a null content becomes the empty text."""
        calls = tuple(read_tool_call(call) for call in value.get("tool_calls") or ())
        return Message(
            role=value["role"],
            content=value.get("content") or "",
            tool_calls=calls,
            tool_call_id=value.get("tool_call_id"),
            name=value.get("name"),
        )


def read_tool_call(value: dict[str, Any]) -> ToolCall:
    """Read a tool call as endpoints return it: arguments as a JSON text, or already as an object."""
    function = value.get("function") or {}
    given = function.get("arguments")
    raw = given if isinstance(given, str) else "" if given is None else json.dumps(given)
    return ToolCall(
        id=str(value.get("id") or ""),
        name=str(function.get("name") or ""),
        arguments=parse_arguments(raw),
        raw=raw,
    )


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Return the JSON object in `text`; an empty text means no arguments; anything else gives None."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
