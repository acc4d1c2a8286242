"""The react agent with scripted models: turns, limits, tool errors, final answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from aworld_cli.agent.base import AgentContext, Attempt
from aworld_cli.agent.react import ReactAgent, ReactConfig
from aworld_cli.environment.base import Task
from aworld_cli.errors import EpisodeError
from aworld_cli.model.base import ChatRequest, ModelSession, Reply
from aworld_cli.model.session import Opening, open_session
from aworld_cli.recipe.schema import Sampling
from aworld_cli.tool.base import ToolResult, ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall

CALL = Message("assistant", "", (ToolCall("c1", "add", {"a": 1}), ToolCall("c2", "add", {"a": 2})))
TOOL = ToolSpec("add", "Add.", {"type": "object"})


class Scripted:
    """Answers with what the script makes of the request."""

    name = "scripted"

    def __init__(self, script: Callable[[ChatRequest], Reply]) -> None:
        self.script = script
        self.requests: list[ChatRequest] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def complete(self, request: ChatRequest) -> Reply:
        self.requests.append(ChatRequest(list(request.messages), request.tools, request.params))
        return self.script(request)


def attempt(
    model: Scripted, config: ReactConfig, tool: Callable[[ToolCall], ToolResult]
) -> tuple[Attempt, ModelSession]:
    sessions: list[ModelSession] = []

    def open_one(messages: Sequence[Message]) -> ModelSession:
        sessions.append(open_session(model, Opening(messages, [TOOL], Sampling(), 7, "r")))
        return sessions[-1]

    async def call(request: ToolCall) -> ToolResult:
        return tool(request)

    made = Attempt()
    task = Task("t", (Message("user", "1+1"),))
    asyncio.run(ReactAgent(config).attempt(AgentContext(task, open_one, [TOOL], call), made))
    return made, sessions[0]


def call_then_answer(request: ChatRequest) -> Reply:
    if request.messages[-1].role == "tool":
        return Reply(Message("assistant", "2"), "stop", 10, 1)
    return Reply(CALL, "tool_calls", 5, 2)


def test_calls_are_answered_in_order_and_the_answer_is_kept() -> None:
    model = Scripted(call_then_answer)
    made, session = attempt(
        model, ReactConfig(), lambda call: ToolResult(str(call.arguments), is_error=call.id == "c2")
    )
    assert (made.outcome, made.answer) == ("answered", "2")
    assert [m.content for m in session.messages if m.role == "tool"] == ["{'a': 1}", "{'a': 2}"]
    assert [m.tool_call_id for m in session.messages if m.role == "tool"] == ["c1", "c2"]
    assert (made.turns[0].tool_calls, made.turns[0].tool_errors) == (2, 1)
    assert [turn.completion_tokens for turn in made.turns] == [2, 1]
    assert model.requests[0].params.seed != model.requests[1].params.seed


def test_at_the_turn_limit_one_tool_free_answer_is_asked_for() -> None:
    def stubborn(request: ChatRequest) -> Reply:
        return Reply(CALL, "tool_calls") if request.tools else Reply(Message("assistant", "3", CALL.tool_calls), "stop")

    model = Scripted(stubborn)
    made, session = attempt(model, ReactConfig(max_turns=2), lambda call: ToolResult("x"))
    assert (made.outcome, made.limit, made.answer) == ("limit", "turns", "3")
    assert len(model.requests) == 3 and not model.requests[-1].tools
    assert session.messages[-2] == Message("user", ReactConfig().final_prompt)
    assert session.messages[-1].tool_calls == ()


def test_a_reply_cut_at_its_length_is_a_limit_and_one_more_is_asked_for() -> None:
    replies = iter([Reply(Message("assistant", "I think that"), "length"), Reply(Message("assistant", "12"), "stop")])
    model = Scripted(lambda _: next(replies))
    made, _ = attempt(model, ReactConfig(), lambda _: ToolResult(""))
    assert (made.outcome, made.limit, made.answer) == ("limit", "length", "12")
    assert not model.requests[-1].tools


def test_the_time_limit_asks_for_an_answer() -> None:
    model = Scripted(call_then_answer)
    made, _ = attempt(model, ReactConfig(max_seconds=1e-9), lambda _: ToolResult(""))
    assert (made.outcome, made.limit) == ("limit", "time") and len(model.requests) == 1


def test_a_failed_call_ends_its_siblings() -> None:
    ended: list[str] = []

    async def call(request: ToolCall) -> ToolResult:
        try:
            await asyncio.sleep(0 if request.id == "c1" else 60)
        except asyncio.CancelledError:
            ended.append(request.id)
            raise
        raise EpisodeError("tool", "down")

    def open_one(messages: Sequence[Message]) -> ModelSession:
        return open_session(Scripted(call_then_answer), Opening(messages, [TOOL], Sampling(), 7, "r"))

    async def main() -> None:
        context = AgentContext(Task("t", (Message("user", "1+1"),)), open_one, [TOOL], call)
        with pytest.raises(EpisodeError):
            await ReactAgent(ReactConfig()).attempt(context, Attempt())
        await asyncio.sleep(0)

    asyncio.run(main())
    assert ended == ["c2"]


def test_system_message() -> None:
    model = Scripted(lambda _: Reply(Message("assistant", "2"), "stop"))
    attempt(model, ReactConfig(system="Be brief."), lambda _: ToolResult(""))
    assert model.requests[0].messages[0] == Message("system", "Be brief.")
