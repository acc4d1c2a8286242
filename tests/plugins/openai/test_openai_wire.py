"""The mapping between the core's types and the JSON of chat endpoints, both ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from aworld_cli.model.base import ChatRequest
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall
from aworld_openai.wire import decode_reply, encode_request

Ask = Callable[..., ChatRequest]
TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "number"}}})


def completion(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}], **more}


def test_a_request_holds_messages_sampling_and_nothing_else(ask: Ask) -> None:
    body = json.loads(encode_request(ask(Message("system", "s"), Message("user", "ü")), "m", {}))
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "ü"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 64,
        "seed": 1,
    }


def test_tools_come_with_a_choice(ask: Ask) -> None:
    body = json.loads(encode_request(ask(tools=(TOOL,)), "m", {}))
    assert body["tools"] == [TOOL.to_json()]
    assert body["tool_choice"] == "auto"


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**31, 2**63 - 1])
def test_the_seed_fits_an_int32(ask: Ask, seed: int) -> None:
    sent = json.loads(encode_request(ask(seed=seed), "m", {}))["seed"]
    assert 0 <= sent < 2**31
    assert seed >= 2**31 or sent == seed


def test_extra_keys_add_replace_and_leave_out(ask: Ask) -> None:
    extra = {"max_tokens": None, "max_completion_tokens": 9, "top_p": 1, "unknown": None}
    body = json.loads(encode_request(ask(), "m", extra))
    assert "max_tokens" not in body
    assert "unknown" not in body
    assert (body["max_completion_tokens"], body["top_p"]) == (9, 1)


def test_a_conversation_with_calls_goes_out_in_the_openai_form(ask: Ask) -> None:
    call = ToolCall("c1", "add", {"a": 1}, '{"a": 1}')
    history = (Message("user", "q"), Message("assistant", "", (call,)), Message("tool", "2", (), "c1", "add"))
    messages = json.loads(encode_request(ask(*history), "m", {}))["messages"]
    assert messages == [message.to_json() for message in history]


def test_calls_that_were_no_json_go_back_inside_an_object(ask: Ask) -> None:
    call = ToolCall("c1", "add", None, '{"a": ')
    sent = json.loads(encode_request(ask(Message("assistant", "", (call,))), "m", {}))["messages"][0]
    arguments = json.loads(sent["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"invalid_arguments": '{"a": '}


def test_a_reply_of_text() -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}
    reply = decode_reply(completion({"content": "hi", "reasoning_content": "hm"}, usage=usage), turn=1)
    assert reply.message == Message("assistant", "hi")
    assert (reply.stop, reply.prompt_tokens, reply.completion_tokens) == ("stop", 7, 2)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, "n/a"])
def test_usage_may_lack(usage: Any) -> None:
    reply = decode_reply(completion({"content": "hi"}, usage=usage), turn=1)
    assert (reply.prompt_tokens, reply.completion_tokens) == (0, 0)
    assert decode_reply(completion({"content": "hi"}), turn=1).prompt_tokens == 0


@pytest.mark.parametrize(
    ("finish", "stop"),
    [("stop", "stop"), ("length", "length"), (None, "stop"), ("content_filter", "stop"), ("abort", "abort")],
)
def test_finish_reasons(finish: str | None, stop: str) -> None:
    assert decode_reply(completion({"content": "x"}, finish), turn=1).stop == stop


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, ""), ("", ""), ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab")],
)
def test_content_may_be_null_or_parts(content: Any, text: str) -> None:
    assert decode_reply(completion({"content": content}), turn=1).message.content == text
    assert decode_reply(completion({}), turn=1).message.content == ""


def test_calls_keep_what_the_model_wrote_even_when_it_is_no_json() -> None:
    calls = [
        {"id": "a", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
        {"id": "b", "type": "function", "function": {"name": "add", "arguments": '{"a": '}},
        {"id": "c", "type": "function", "function": {"name": "add", "arguments": "[1]"}},
        {"id": "d", "type": "function", "function": {"name": "add", "arguments": {"a": 2}}},
        {"id": "e", "type": "function", "function": {"name": "now"}},
    ]
    reply = decode_reply(completion({"content": None, "tool_calls": calls}, "tool_calls"), turn=1)
    assert reply.stop == "tool_calls"
    assert [call.arguments for call in reply.message.tool_calls] == [{"a": 1}, None, None, {"a": 2}, {}]
    assert reply.message.tool_calls[1].raw == '{"a": '


def test_calls_without_an_id_or_with_one_twice_get_their_own() -> None:
    function = {"name": "add", "arguments": "{}"}
    calls = [{"function": function}, {"id": "", "function": function}, *[{"id": "x", "function": function}] * 2]
    ids = [call.id for call in decode_reply(completion({"tool_calls": calls}), turn=3).message.tool_calls]
    assert len(set(ids)) == 4
    assert all(ids)
    later = decode_reply(completion({"tool_calls": calls[:1]}), turn=5).message.tool_calls[0].id
    assert later not in ids


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"message": "hi"}]},
        completion({"content": 3}),
        completion({"tool_calls": "x"}),
        completion({"tool_calls": [{"id": "a"}]}),
    ],
)
def test_what_is_no_chat_completion_is_a_value_error(data: Any) -> None:
    with pytest.raises(ValueError, match=r"choices\[0\]|content|tool_calls"):
        decode_reply(data, turn=1)
