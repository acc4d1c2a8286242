"""The model against a real server: requests, the pool, the proxy, the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.agent.base import AgentContext, Attempt
from aworld_cli.agent.react import ReactConfig, react
from aworld_cli.environment.base import Task
from aworld_cli.errors import MachineError
from aworld_cli.model.base import ChatModel, ChatRequest, ModelContext, TokenModel
from aworld_cli.model.session import ChatSession, Opening, open_session
from aworld_cli.recipe.schema import Sampling
from aworld_cli.testing.model_server import FakeModelServer
from aworld_cli.tool.base import ToolResult, ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall
from aworld_openai.config import OpenAIConfig
from aworld_openai.model import OpenAIModel, openai

Make = Callable[..., OpenAIModel]
Ask = Callable[..., ChatRequest]
Use = Callable[..., Any]
Until = Callable[[Callable[[], Any]], Awaitable[None]]
ADD = ToolSpec("add", "Adds two numbers.", {"type": "object", "properties": {"a": {}, "b": {}}})


def test_it_is_a_chat_model_and_no_token_model(make: Make) -> None:
    model = make("http://127.0.0.1:1/v1")
    assert isinstance(model, ChatModel)
    assert not isinstance(model, TokenModel)
    assert model.name == "fake"


def test_a_reply_comes_back_and_the_request_went_out(make: Make, ask: Ask, use: Use, key: str) -> None:
    with FakeModelServer(lambda messages, seed: f"{messages[0]['content']} {seed}", api_key=key) as server:
        model = make(f"{server.base_url}/", headers={"X-Title": "tests"}, extra_body={"top_k": 5})
        reply = use(model, lambda model: model.complete(ask(seed=7)))
    assert reply.message == Message("assistant", "hello 7")
    assert (reply.stop, reply.prompt_tokens, reply.completion_tokens) == ("stop", 1, 2)
    received = server.received[0]
    assert received.path == "/v1/chat/completions"
    assert received.headers["X-Title"] == "tests"
    assert received.headers["Content-Type"] == "application/json"
    assert received.body["top_k"] == 5
    assert "tools" not in received.body


def test_a_request_of_megabytes_goes_out_without_a_warning(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer(lambda messages, seed: str(len(messages[0]["content"]))) as server:
        reply = use(make(server), lambda model: model.complete(ask(Message("user", "x" * 2_000_000))))
    assert reply.message.content == "2000000"


def test_128_requests_at_a_time_take_one_latency(make: Make, ask: Ask, use: Use) -> None:
    async def work(model: OpenAIModel) -> None:
        for _ in range(2):
            await asyncio.gather(*(model.complete(ask(seed=seed)) for seed in range(128)))

    with FakeModelServer(latency=0.4) as server:
        use(make(server), work)
    assert server.counters.requests == 256
    assert server.counters.peak_in_flight == 128
    assert server.counters.connections <= 129, "connections are kept alive"


def test_max_connections_is_the_most_at_a_time(make: Make, ask: Ask, use: Use) -> None:
    async def work(model: OpenAIModel) -> None:
        await asyncio.gather(*(model.complete(ask(seed=seed)) for seed in range(24)))

    with FakeModelServer(latency=0.02) as server:
        use(make(server, max_connections=8), work)
    assert server.counters.peak_in_flight == 8
    assert server.counters.requests == 24


def test_a_cancelled_request_is_taken_from_the_server(make: Make, ask: Ask, use: Use, until: Until) -> None:
    async def work(model: OpenAIModel) -> None:
        task = asyncio.create_task(model.complete(ask()))
        await until(lambda: server.counters.in_flight)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not server.counters.in_flight)

    with FakeModelServer(latency=60) as server:
        use(make(server), work)
    assert server.counters.aborted == 1


def test_close_is_safe_before_start_and_twice(make: Make, ask: Ask) -> None:
    async def main() -> None:
        model = make(server)
        await model.close()
        await model.start()
        await model.close()
        await model.close()
        with pytest.raises(RuntimeError, match="not started"):
            await model.complete(ask())

    with FakeModelServer() as server:
        asyncio.run(main())


def test_a_proxy_of_the_environment_is_used_except_for_loopback(
    make: Make, ask: Ask, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeModelServer() as proxy, FakeModelServer() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        use(make(server), lambda model: model.complete(ask()))
        assert (server.counters.requests, proxy.counters.requests) == (1, 0)
        use(make("http://model.invalid/v1"), lambda model: model.complete(ask()))
        assert (server.counters.requests, proxy.counters.requests) == (1, 1)
        assert proxy.received[0].headers["Host"] == "model.invalid"


def test_a_proxy_that_is_not_http_is_a_machine_error(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "socks5://user:pw-hidden@h:1")
    with pytest.raises(MachineError, match="https_proxy names no HTTP proxy") as caught:
        asyncio.run(make("https://model.invalid/v1").start())
    assert "pw-hidden" not in str(caught.value)


def test_a_checkpoint_of_an_earlier_stage_is_refused() -> None:
    with pytest.raises(MachineError, match="checkpoint"):
        openai(OpenAIConfig(model="m"), ModelContext(run_dir=Path(), seed=0, checkpoint=Path("x")))


class FakeTools:
    """Stands for a ToolSet: its one tool adds."""

    specs = (ADD,)

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []

    async def call(self, call: ToolCall) -> ToolResult:
        self.calls.append(call)
        if call.arguments is None:
            return ToolResult("the arguments are not a JSON object", is_error=True)
        return ToolResult(str(call.arguments["a"] + call.arguments["b"]))


def test_the_agent_calls_tools_through_the_session_and_answers(make: Make, use: Use) -> None:
    def chat(messages: list[dict[str, Any]], seed: int) -> str | Message | dict[str, Any]:
        results = [message["content"] for message in messages if message["role"] == "tool"]
        if not results:  # a server that gives no ids, no usage and a null content
            calls = [{"function": {"name": "add", "arguments": text}} for text in ('{"a": 1, "b": 2}', '{"a": ')]
            return {"choices": [{"message": {"content": None, "tool_calls": calls}, "finish_reason": "tool_calls"}]}
        if len(results) == 2:
            return Message("assistant", "once more", (ToolCall("c9", "add", {"a": 3, "b": 4}),))
        return f"results: {' | '.join(results)}"

    tools, attempt = FakeTools(), Attempt()

    async def work(model: OpenAIModel) -> None:
        def opened(messages: Any) -> Any:
            session = open_session(model, Opening(messages, tools.specs, Sampling(), seed=5, request_id="r"))
            assert isinstance(session, ChatSession)
            return session

        task = Task("t", (Message("user", "add"),))
        await react(ReactConfig()).attempt(AgentContext(task, opened, tools.specs, tools.call), attempt)

    with FakeModelServer(chat) as server:
        use(make(server), work)
    assert attempt.outcome == "answered"
    assert attempt.answer == "results: 3 | the arguments are not a JSON object | 7"
    assert [(turn.stop, turn.tool_calls, turn.tool_errors) for turn in attempt.turns] == [
        ("tool_calls", 2, 1),
        ("tool_calls", 1, 0),
        ("stop", 0, 0),
    ]
    assert len({call.id for call in tools.calls}) == 3
    last = server.received[-1].body["messages"]
    assert [call["id"] for call in last[1]["tool_calls"]] == [m["tool_call_id"] for m in last[2:4]]
    assert len({received.body["seed"] for received in server.received}) == 3
