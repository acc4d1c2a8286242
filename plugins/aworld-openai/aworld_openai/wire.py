"""Requests and replies of `/chat/completions`: the core's types on one side, JSON on the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from aworld_cli.model import ChatRequest, Reply, Stop
from aworld_cli.trajectory import Message

_INT32: Final = 0x7FFF_FFFF
_STOPS: Final[dict[str, Stop]] = {
    "length": "length",
    "max_tokens": "length",
    "abort": "abort",
    "error": "abort",
}


def encode_request(request: ChatRequest, model: str, extra: Mapping[str, Any]) -> bytes:
    """Return the body of a chat request; a key that `extra` sets to None is left out."""
    params = request.params
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message) for message in request.messages],
        "temperature": params.temperature,
        "top_p": params.top_p,
        "max_tokens": params.max_tokens,
        "seed": params.seed & _INT32,  # several servers take no larger seed
    }
    if request.tools:
        body["tools"] = [tool.to_json() for tool in request.tools]
        body["tool_choice"] = "auto"
    body.update(extra)
    for key in [key for key, value in extra.items() if value is None]:
        del body[key]
    return json.dumps(body, separators=(",", ":")).encode()


def _message(message: Message) -> dict[str, Any]:
    """Return the message as endpoints take it back.

    vLLM and llama.cpp answer 400 to a history whose tool-call arguments are no JSON object (vLLM issue 43995), which
    would turn one slip of the model into a failed episode. What it wrote is sent inside an object instead.
    """
    value = message.to_json()
    for call, sent in zip(message.tool_calls, value.get("tool_calls", ()), strict=True):
        if call.arguments is None:
            sent["function"]["arguments"] = json.dumps({"invalid_arguments": call.raw})
    return value


def decode_reply(data: Any, *, turn: int) -> Reply:
    """Return the reply that a response's JSON holds.

    Args:
        data: the parsed body.
        turn: how many messages came before; it makes the ids of tool calls that came without one.

    Raises:
        ValueError: it is no chat completion; the text says why.
    """
    try:
        choice = data["choices"][0]
        given = choice["message"]
    except (KeyError, IndexError, TypeError):
        raise ValueError("it holds no choices[0].message") from None
    if not isinstance(given, dict):
        raise ValueError("its choices[0].message is not an object")
    plain = {
        "role": "assistant",
        "content": _text(given.get("content")),
        "tool_calls": _calls(given.get("tool_calls"), turn),
    }
    message = Message.from_json(plain)
    stop = _STOPS.get(str(choice.get("finish_reason")), "stop")
    if message.tool_calls and stop != "abort":
        stop = "tool_calls"
    usage = data.get("usage")
    return Reply(message, stop, _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):  # parts, as some gateways return them
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    raise ValueError("its content is neither a text nor null")


def _calls(given: Any, turn: int) -> list[dict[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise ValueError("its tool_calls are not a list")
    calls: list[dict[str, Any]] = []
    seen: set[str] = set()
    for index, item in enumerate(given):
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            raise ValueError("one of its tool_calls has no function")
        call_id = str(item.get("id") or "")
        if not call_id or call_id in seen:
            call_id = f"call_{turn}_{index}"
        seen.add(call_id)
        arguments = function.get("arguments")
        calls.append({"id": call_id, "function": {**function, "arguments": "" if arguments is None else arguments}})
    return calls


def _count(usage: Any, key: str) -> int:
    value = usage.get(key) if isinstance(usage, dict) else None
    return int(value) if isinstance(value, int | float) else 0
