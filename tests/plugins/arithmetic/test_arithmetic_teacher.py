"""The teacher: a pure function of the request that uses the tool as often as it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from aworld_arithmetic.environment import ArithmeticConfig, arithmetic
from aworld_arithmetic.teacher import ArithmeticTeacher, TeacherConfig
from aworld_cli.errors import EpisodeError
from aworld_cli.model import ChatModel, ChatRequest, SamplingParams
from aworld_cli.seeds import derive_seed
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory import Message

CALCULATOR = (ToolSpec("calculator", "Works out an expression.", {"type": "object"}),)
SEEDS = [derive_seed(0, "test", number) for number in range(1_000)]


def ask(
    teacher: ArithmeticTeacher, *messages: Message, seed: int = 0, tools: Sequence[ToolSpec] = CALCULATOR
) -> Message:
    params = SamplingParams(temperature=1.0, top_p=1.0, max_tokens=16, seed=seed)
    return asyncio.run(teacher.complete(ChatRequest(messages, tools, params))).message


def test_it_is_a_chat_model() -> None:
    assert isinstance(ArithmeticTeacher(TeacherConfig()), ChatModel)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_share_of_calls_is_the_one_asked_for(share: float) -> None:
    teacher = ArithmeticTeacher(TeacherConfig(tool_share=share))
    said = [ask(teacher, Message("user", "347+581="), seed=seed) for seed in SEEDS]
    assert sum(bool(message.tool_calls) for message in said) / len(said) == pytest.approx(share, abs=0.05)
    for message in said:
        if message.tool_calls:
            (call,) = message.tool_calls
            assert (call.name, call.arguments, message.content) == ("calculator", {"expression": "347+581"}, "")
        else:
            assert message.content == "928"


def test_equal_requests_get_equal_replies_in_any_order() -> None:
    teacher = ArithmeticTeacher(TeacherConfig())
    forwards = [ask(teacher, Message("user", "7-9="), seed=seed) for seed in SEEDS[:100]]
    backwards = [ask(teacher, Message("user", "7-9="), seed=seed) for seed in reversed(SEEDS[:100])]
    assert forwards == backwards[::-1]


@pytest.mark.parametrize("result", ["-2", "the result is -2"])
def test_a_result_is_passed_on_whatever_the_seed(result: str) -> None:
    teacher = ArithmeticTeacher(TeacherConfig(tool_share=1.0))
    call = ask(teacher, Message("user", "7-9="))
    conversation = (Message("user", "7-9="), call, Message("tool", result, tool_call_id="call_0_0", name="calculator"))
    assert {ask(teacher, *conversation, seed=seed).content for seed in SEEDS[:50]} == {"-2"}


def test_without_a_result_or_a_calculator_it_answers_itself() -> None:
    teacher = ArithmeticTeacher(TeacherConfig(tool_share=1.0))
    other = (ToolSpec("search", "", {"type": "object"}),)
    assert ask(teacher, Message("user", "7-9="), tools=()).content == "-2"
    assert ask(teacher, Message("user", "7-9="), tools=other).content == "-2"
    call = ask(teacher, Message("user", "7-9="))
    broken = Message("tool", "the server died", tool_call_id="call_0_0", name="calculator")
    assert ask(teacher, Message("user", "7-9="), call, broken).content == "-2"
    assert ask(teacher, Message("user", "7-9="), Message("user", "Answer now."), tools=()).content == "-2"


@pytest.mark.parametrize("accuracy", [0.0, 0.7])
def test_wrong_answers_are_as_many_as_asked_for(accuracy: float) -> None:
    teacher = ArithmeticTeacher(TeacherConfig(tool_share=0.0, accuracy=accuracy))
    environment = arithmetic(ArithmeticConfig())
    tasks = environment.tasks("train", 500)
    right = [
        environment.grade(task, ask(teacher, *task.messages, seed=seed).content, ()).correct
        for task, seed in zip(tasks, SEEDS, strict=False)
    ]
    assert sum(map(bool, right)) / len(right) == pytest.approx(accuracy, abs=0.06)


def test_a_conversation_without_an_expression_is_an_error() -> None:
    with pytest.raises(EpisodeError, match="asks for an expression") as caught:
        ask(ArithmeticTeacher(TeacherConfig()), Message("user", "Hello"))
    assert not caught.value.retryable
