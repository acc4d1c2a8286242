"""Each limit of an episode: its option changes the run, and one last reply without tools is asked for and kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from aworld_cli.agent import LIMITS
from aworld_cli.agent.base import AgentContext, Attempt
from aworld_cli.agent.react import ReactAgent, ReactConfig
from aworld_cli.environment.base import Task
from aworld_cli.errors import ContextOverflow, EpisodeError
from aworld_cli.model.base import ChatRequest, ModelSession, Reply
from aworld_cli.model.session import Opening, open_session
from aworld_cli.recipe.schema import Sampling
from aworld_cli.runtime.base import Episode
from aworld_cli.runtime.episode import EpisodeRunner
from aworld_cli.tool.base import ToolResult, ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall
from aworld_cli.trajectory.record import Grade, Trajectory

TOOL = ToolSpec("add", "Add.", {"type": "object"})
TASK = Task("t", (Message("user", "1+1"),), answer="2")
Script = Callable[[ChatRequest], Awaitable[Reply]]


def calls(*names: str, arguments: dict[str, Any] | None = {}) -> Message:  # noqa: B006 (never changed)
    return Message("assistant", "", tuple(ToolCall(f"c{n}", name, arguments) for n, name in enumerate(names)))


class Chat:
    """A chat model whose script sees each request; replies are cut at the tokens that are asked for."""

    name = "chat"

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[ChatRequest] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def complete(self, request: ChatRequest) -> Reply:
        self.requests.append(ChatRequest(list(request.messages), request.tools, request.params))
        reply = await self.script(request)
        return replace(reply, completion_tokens=min(reply.completion_tokens, request.params.max_tokens))


async def tireless(request: ChatRequest) -> Reply:
    """Call a tool in every turn; when there is none, answer."""
    if request.tools:
        return Reply(calls("add", "add"), "tool_calls", 5, 10)
    return Reply(Message("assistant", "2"), "stop", 5, 1)


def attempt(
    script: Script, call: Callable[[ToolCall], Awaitable[ToolResult]] | None = None, **options: Any
) -> tuple[Attempt, Chat, list[Message]]:
    sessions: list[ModelSession] = []
    model = Chat(script)

    def open_one(messages: Sequence[Message]) -> ModelSession:
        sessions.append(open_session(model, Opening(messages, [TOOL], Sampling(max_tokens=50), 7, "r")))
        return sessions[-1]

    async def result(asked: ToolCall) -> ToolResult:
        return ToolResult("x")

    made = Attempt()
    context = AgentContext(TASK, open_one, [TOOL], call or result)
    asyncio.run(ReactAgent(ReactConfig(**options)).attempt(context, made))
    return made, model, sessions[0].messages


def tool_calls(made: Attempt) -> int:
    return sum(turn.tool_calls for turn in made.turns)


async def invalid(request: ChatRequest) -> Reply:
    """Call a tool that there is, then only what makes no sense."""
    if not request.tools:
        return Reply(Message("assistant", "2"), "stop", 5, 1)
    if len(request.messages) == 1:
        return Reply(calls("add"), "tool_calls", 5, 10)
    asked = calls("subtract") if len(request.messages) % 4 else calls("add", arguments=None)
    return Reply(asked, "tool_calls", 5, 10)


@pytest.mark.parametrize(
    ("limit", "script", "options", "turns", "made_calls"),
    [
        ("turns", tireless, {}, 9, 16),
        ("turns", tireless, {"max_turns": 3}, 4, 6),
        ("tokens", tireless, {"max_tokens": 20}, 3, 4),
        ("tokens", tireless, {"max_tokens": 21}, 4, 6),
        ("tool_calls", tireless, {"max_tool_calls": 4}, 4, 4),
        ("tool_calls", tireless, {"max_tool_calls": 3}, 3, 3),
        ("tool_calls", tireless, {"max_tool_calls": 0}, 2, 0),
        ("turns", invalid, {}, 9, 8),
        ("invalid_calls", invalid, {"max_invalid_calls": 3}, 5, 4),
        ("invalid_calls", invalid, {"max_invalid_calls": 1}, 3, 2),
        ("time", tireless, {"max_seconds": 1e-9}, 1, 0),
    ],
)
def test_each_limit_changes_the_run_and_the_answer_is_asked_for(
    limit: str, script: Script, options: dict[str, Any], turns: int, made_calls: int
) -> None:
    made, model, messages = attempt(script, **options)
    assert (made.outcome, made.limit, made.answer) == ("limit", limit, "2")
    assert (len(made.turns), tool_calls(made)) == (turns, made_calls)
    assert limit in LIMITS
    assert [bool(request.tools) for request in model.requests] == [True] * (turns - 1) + [False]
    assert messages[-2] == Message("user", ReactConfig().final_prompt)


def test_every_option_that_limits_has_a_test_of_its_own() -> None:
    options = {name for name in ReactConfig.model_fields if name.startswith("max_")}
    assert options == {"max_turns", "max_tokens", "max_tool_calls", "max_invalid_calls", "max_seconds"}


def test_exactly_as_many_calls_as_allowed_are_no_limit() -> None:
    async def two_and_done(request: ChatRequest) -> Reply:
        if len(request.messages) == 1:
            return Reply(calls("add", "add"), "tool_calls")
        return Reply(Message("assistant", "2"), "stop")

    made, _, _ = attempt(two_and_done, max_tool_calls=2)
    assert (made.outcome, made.limit, made.answer) == ("answered", None, "2")


def test_a_call_beyond_the_limit_is_not_made_and_says_so() -> None:
    asked: list[str] = []

    async def call(request: ToolCall) -> ToolResult:
        asked.append(request.id)
        return ToolResult("x")

    made, _, messages = attempt(tireless, call, max_tool_calls=1)
    assert asked == ["c0"] and made.turns[0].tool_errors == 0
    results = [message for message in messages if message.role == "tool"]
    assert [result.tool_call_id for result in results] == ["c0", "c1"]
    assert results[1].content == "not made: no more than 1 tool calls are allowed"


def test_the_tokens_that_are_left_bound_each_reply_but_the_last() -> None:
    async def talkative(request: ChatRequest) -> Reply:
        if request.params.max_tokens < 40:
            return Reply(Message("assistant", "I th"), "length", 5, 50)
        return Reply(calls("add"), "tool_calls", 5, 30)

    made, model, _ = attempt(talkative, max_tokens=40)
    assert [request.params.max_tokens for request in model.requests] == [40, 10, 50]
    assert (made.limit, sum(turn.completion_tokens for turn in made.turns[:-1])) == ("tokens", 40)


def test_a_reply_cut_at_its_own_length_is_another_limit() -> None:
    async def cut(request: ChatRequest) -> Reply:
        return Reply(Message("assistant", "I th"), "length", 5, 50)

    assert attempt(cut)[0].limit == "length"
    assert attempt(cut, max_tokens=50)[0].limit == "tokens"


def test_the_time_limit_cuts_a_model_call_and_leaves_no_trace_of_it() -> None:
    async def slow(request: ChatRequest) -> Reply:
        if request.tools:
            await asyncio.sleep(60)
        return Reply(Message("assistant", "2"), "stop", 5, 1)

    began = time.monotonic()
    made, _, messages = attempt(slow, max_seconds=0.5)
    assert time.monotonic() - began < 10
    assert (made.outcome, made.limit, made.answer) == ("limit", "time", "2")
    assert [message.role for message in messages] == ["user", "user", "assistant"]
    assert [turn.stop for turn in made.turns] == ["abort", "stop"] and made.turns[0].model_seconds >= 0.5


def test_the_time_limit_cuts_a_tool_call_which_the_model_hears_of() -> None:
    ended: list[str] = []

    async def call(request: ToolCall) -> ToolResult:
        if request.id == "c0":
            return ToolResult("quick")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(request.id)
        return ToolResult("slow")

    made, _, messages = attempt(tireless, call, max_seconds=0.5)
    results = [message.content for message in messages if message.role == "tool"]
    assert results == ["quick", "cancelled: the episode's 0.5 s are over"]
    assert (made.limit, made.turns[0].tool_calls, made.turns[0].tool_errors) == ("time", 2, 1)
    assert ended == ["c1"]


def test_a_timeout_of_the_models_own_is_not_the_limit() -> None:
    async def broken(request: ChatRequest) -> Reply:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        attempt(broken, max_seconds=60)


class Marking:
    """An environment that grades what it is given."""

    name = "marking"

    def grade(self, task: Task, answer: str | None, messages: Sequence[Message]) -> Grade:
        return Grade(float(answer == task.answer), answer == task.answer, {"got": answer})


class NoTools:
    specs = (TOOL,)

    async def call(self, call: ToolCall) -> ToolResult:
        return ToolResult("x" * 100)


def run(script: Script) -> Trajectory:
    runner = EpisodeRunner(
        environment=Marking(),  # type: ignore[arg-type]
        agent=ReactAgent(ReactConfig()),
        model=Chat(script),
        tools=NoTools(),  # type: ignore[arg-type]
        sampling=Sampling(),
    )
    return asyncio.run(runner.run(Episode(TASK, 0, 1)))


@pytest.mark.parametrize(
    ("said", "answer", "correct"), [("", None, False), ("2", "2", True), ("perhaps 3", "perhaps 3", False)]
)
def test_a_conversation_that_outgrows_the_context_is_graded_as_it_is(
    said: str, answer: str | None, correct: bool
) -> None:
    async def overflowing(request: ChatRequest) -> Reply:
        if len(request.messages) > 1:
            raise ContextOverflow("the request has 120 tokens, the model takes 100")
        return Reply(replace(calls("add"), content=said), "tool_calls", 5, 10)

    made = run(overflowing)
    assert (made.outcome, made.limit, made.answer, made.error) == ("limit", "context", answer, None)
    assert made.grade is not None and made.grade.correct is correct
    assert made.extra == {"context": "the request has 120 tokens, the model takes 100"}
    assert len(made.turns) == 1 and "context" in LIMITS


def test_another_failure_of_the_model_stays_an_error() -> None:
    async def failing(request: ChatRequest) -> Reply:
        raise EpisodeError("model", "down")

    with pytest.raises(EpisodeError, match="down"):
        run(failing)
