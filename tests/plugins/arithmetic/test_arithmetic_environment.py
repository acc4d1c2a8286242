"""The environment: its tasks never change, its splits never meet, its grades are exact."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from aworld_arithmetic.environment import ArithmeticConfig, ArithmeticEnvironment, arithmetic, last_number
from aworld_arithmetic.expression import Operation, compute, expressions, find_expression
from aworld_cli.agent.react import FINAL_PROMPT
from aworld_cli.environment import Task
from aworld_cli.model.codec import parse_assistant

operations = st.lists(st.sampled_from(["+", "-", "*"]), min_size=1, max_size=3, unique=True).map(tuple)


def make(**options: object) -> ArithmeticEnvironment:
    return arithmetic(ArithmeticConfig.model_validate(options))


def test_tasks_are_the_same_on_every_machine() -> None:
    tasks = make().tasks("test", 3)
    assert [(task.id, task.answer, task.hash) for task in tasks] == [
        ("315+741", "1056", tasks[0].hash),
        ("674+962", "1636", tasks[1].hash),
        ("637-100", "537", tasks[2].hash),
    ]
    assert tasks[0].messages[0].to_json() == {"role": "user", "content": "315+741="}


@settings(max_examples=25, deadline=None)
@given(digits=st.integers(1, 12), operations=operations, size=st.integers(1, 300))
def test_no_expression_is_in_both_splits_or_twice_in_one(
    digits: int, operations: tuple[Operation, ...], size: int
) -> None:
    environment = make(digits=digits, operations=operations, size=size)
    train = [task.id for task in environment.tasks("train", None)]
    test = [task.id for task in environment.tasks("test", None)]
    assert len(set(train) | set(test)) == len(train) + len(test)
    assert all(zlib.crc32(text.encode()) % 8 == 0 for text in test)
    assert all(zlib.crc32(text.encode()) % 8 != 0 for text in train)
    assert all(str(compute(task.id)) == task.answer for task in environment.tasks("test", None))
    assert max(len(train), len(test)) <= size


@given(first=st.integers(0, 40), second=st.integers(0, 40))
def test_a_smaller_limit_gives_the_first_tasks_of_a_larger_one(first: int, second: int) -> None:
    environment = make()
    short, long = sorted((first, second))
    assert environment.tasks("train", short) == environment.tasks("train", long)[:short]


@pytest.mark.parametrize(("digits", "count"), [(1, 100), (2, 90 * 90)])
def test_small_spaces_are_covered_once(digits: int, count: int) -> None:
    texts = list(expressions(digits, ("+",)))
    assert len(texts) == len(set(texts)) == count


def test_operands_have_the_digits_that_are_asked_for() -> None:
    for task in make(digits=4, operations=["*"]).tasks("test", 50):
        left, right = task.id.split("*")
        assert len(left) == len(right) == 4


@given(
    expected=st.integers(-(10**6), 10**6), text=st.sampled_from(["{}", " {}\n", "= {}.", "347+581={}", "It is **{}**!"])
)
def test_the_last_number_is_what_counts(expected: int, text: str) -> None:
    task = Task("x", (), answer=str(expected))
    right = make().grade(task, text.format(expected), ())
    assert (right.reward, right.correct) == (1.0, True)
    assert right.details == {"expected": str(expected), "got": str(expected)}
    wrong = make().grade(task, text.format(expected + 1), ())
    assert (wrong.reward, wrong.correct) == (0.0, False)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (None, None),
        ("", None),
        ("no idea", None),
        ("928", "928"),
        ("0928", "928"),
        ("1,056", "1056"),
        ("928.0", "928"),
        ("928.5", "928.5"),
        ("581-347", "347"),
        ("\u2212 5 or \u221217", "-17"),
        ("928 or 929", "929"),
        ("9" * 5_000, "9" * 1_000),
        ("\u0669\u0662\u0668", None),
    ],
)
def test_how_numbers_are_read(answer: str | None, got: str | None) -> None:
    assert last_number(answer or "") == got


@given(st.text())
def test_any_answer_is_graded(text: str) -> None:
    grade = make().grade(make().tasks("test", 1)[0], text, ())
    assert grade.reward == float(grade.correct or False)


def test_the_corpus_holds_what_episodes_hold() -> None:
    texts = list(make().corpus())
    assert texts == list(make().corpus())
    assert FINAL_PROMPT in texts and "calculator" in texts
    calls = [call for text in texts for call in parse_assistant(text, 0).tool_calls]
    assert len(calls) == 512
    for call in calls:
        assert call.name == "calculator" and call.arguments is not None
        expression = call.arguments["expression"]
        assert f"{expression}=" in texts and str(compute(expression)) in texts


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ValueError, match="train and test"):
        make().tasks("dev", 1)


@pytest.mark.parametrize(
    "options", [{"digits": 0}, {"operations": []}, {"operations": ["+", "+"]}, {"operations": ["/"]}, {"digit": 3}]
)
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        make(**options)


@pytest.mark.parametrize(
    ("text", "found"),
    [("347+581=", "347+581"), ("What is 3 * 4 = ?", "3*4"), ("1+2= then 3-4=", "3-4"), ("1+2", None), ("", None)],
)
def test_expressions_are_found_in_text(text: str, found: str | None) -> None:
    assert find_expression(text) == found


def test_only_plain_expressions_are_worked_out() -> None:
    assert [compute(text) for text in ("12+3", "3-12", "12*3")] == [15, -9, 36]
    with pytest.raises(ValueError, match="not one operation"):
        compute("1+2+3")
