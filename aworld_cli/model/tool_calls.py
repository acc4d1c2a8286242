"""Tool calls as text: how a call is written, read back, and asked for where a chat template does not know how.

The form is that of the Hermes and Qwen families, `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence

from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall, parse_arguments

#: What surrounds a call; a tokenizer may hold them as tokens of their own.
TAGS = ("<tool_call>", "</tool_call>")

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_PROMPT = (
    "You may call these tools:\n<tools>\n{tools}\n</tools>\n"
    'To call one, write <tool_call>{{"name": NAME, "arguments": {{...}}}}</tool_call>.'
)


def render_tool_call(call: ToolCall) -> str:
    """Return a call as models of the Hermes/Qwen family write it."""
    arguments = call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
    name = json.dumps(call.name, ensure_ascii=False)
    return f'<tool_call>{{"name": {name}, "arguments": {arguments}}}</tool_call>'


def parse_assistant(text: str, turn: int) -> Message:
    """Split an assistant's text into content and Hermes-style tool calls (`<tool_call>{json}</tool_call>`)."""
    if "<tool_call>" not in text:
        return Message("assistant", text)
    calls = [_read_call(match[1], f"call_{turn}_{n}") for n, match in enumerate(_CALL.finditer(text))]
    return Message("assistant", _CALL.sub("", text).strip(), tool_calls=tuple(calls))


def parse_bare_call(text: str, turn: int, names: Collection[str]) -> Message | None:
    """Read a text that is one JSON object and nothing else, `{"name": ..., "parameters": {...}}`, as Llama 3 writes.

    Strict, because an answer may be JSON too: the object holds no other keys (save `"type": "function"`), `names`
    holds its name, and its arguments are an object. None for anything else.
    """
    if not text.lstrip().startswith("{"):
        return None
    value = parse_arguments(text)
    if not value or value.pop("type", "function") != "function":
        return None
    if value.keys() not in ({"name", "parameters"}, {"name", "arguments"}) or value["name"] not in [*names]:
        return None
    call = _read_call(text.strip(), f"call_{turn}_0")
    return None if call.arguments is None else Message("assistant", "", tool_calls=(call,))


def with_tool_prompt(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[Message]:
    """Return the messages with the tools described in the system message, and how to call them."""
    listing = "\n".join(json.dumps(tool.to_json()["function"], ensure_ascii=False) for tool in tools)
    text = _PROMPT.format(tools=listing)
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{text}"), *messages[1:]]
    return [Message("system", text), *messages]


def _read_call(text: str, call_id: str) -> ToolCall:
    value = parse_arguments(text) or {}
    arguments = value.get("arguments", value.get("parameters"))
    if isinstance(arguments, str):
        arguments = parse_arguments(arguments)
    return ToolCall(
        id=call_id,
        name=str(value.get("name") or ""),
        arguments=arguments if isinstance(arguments, dict) else None,
        raw=text,
    )
