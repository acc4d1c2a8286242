"""The environment `arithmetic`: `347+581=` wants 928."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict, Field, field_validator

from aworld_arithmetic.expression import Operation, compute, expressions, held_out
from aworld_cli.agent import FINAL_PROMPT
from aworld_cli.environment import Task
from aworld_cli.model import render_tool_call
from aworld_cli.trajectory import Grade, Message, ToolCall

#: The MCP tool that these tasks are made for (aworld-toolbox offers it), and its one argument.
TOOL, ARGUMENT = "calculator", "expression"

_NUMBER = re.compile(r"(?<![\d.])[-\u2212]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?", re.ASCII)
_MISHAPS = (
    f"there is no tool called 'x'; tools: {TOOL}",
    f"the arguments of {TOOL} are not a JSON object",
    "syntax error at character 4: a number is missing",
    "the expression is empty",
)


class ArithmeticConfig(BaseModel):
    """Options of `environment: {kind: arithmetic}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digits: int = Field(3, ge=1, le=12, description="Digits of each of the two operands.")
    operations: tuple[Operation, ...] = Field(
        ("+", "-"), min_length=1, description="Which operations occur: +, - and *."
    )
    size: int = Field(10_000, ge=1, le=1_000_000, description="Most tasks of a split.")

    @field_validator("operations")
    @classmethod
    def _once_each(cls, operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
        if len(set(operations)) < len(operations):
            raise ValueError("an operation is named twice")
        return operations


class ArithmeticEnvironment:
    """Expressions to work out.

    The splits are `train` and `test`. An expression is in `test` when the CRC-32 of its text is a multiple of 8, and
    in `train` otherwise, so none is in both. Their order depends on the options alone, never on a recipe's seed.
    """

    name = "arithmetic"

    def __init__(self, config: ArithmeticConfig) -> None:
        self.config = config

    def splits(self) -> Sequence[str]:
        """See `Environment.splits`."""
        return ("train", "test")

    def tasks(self, split: str, limit: int | None) -> list[Task]:
        """See `Environment.tasks`; at most `size` tasks, each of one user message such as `347+581=`.

        Raises:
            ValueError: there is no such split.
        """
        if split not in self.splits():
            raise ValueError(f"arithmetic has the splits train and test, not {split!r}")
        wanted = self.config.size if limit is None else min(limit, self.config.size)
        texts = expressions(self.config.digits, self.config.operations)
        chosen = (text for text in texts if held_out(text) == (split == "test"))
        return [_task(text) for text in itertools.islice(chosen, wanted)]

    def grade(self, task: Task, answer: str | None, messages: Sequence[Message]) -> Grade:
        """Reward 1 when the last number in the answer is the result, else 0.

        What stands around the number does not count (`= 928.` and `347+581=928` are right), nor do thousands
        separators and a fraction of zeros. The details hold what was expected and the number that was read.
        """
        assert task.answer is not None
        got = last_number(answer or "")
        correct = got == task.answer
        return Grade(float(correct), correct, {"expected": task.answer, "got": got})

    def corpus(self) -> Iterator[str]:
        """See `Environment.corpus`: prompts, calls, results and answers, and now and then what goes wrong."""
        texts = expressions(self.config.digits, self.config.operations)
        for number, text in enumerate(itertools.islice(texts, 512)):
            call = ToolCall(id="", name=TOOL, arguments={ARGUMENT: text})
            yield from (f"{text}=", TOOL, render_tool_call(call), str(compute(text)))
            if number % 64 == 0:
                yield from (FINAL_PROMPT, *_MISHAPS)


def last_number(text: str) -> str | None:
    """Return the last number in `text` as a plain integer, or as it stands when it is not an integer."""
    found = _NUMBER.findall(text)
    if not found:
        return None
    number: str = found[-1].replace(",", "").replace("\u2212", "-")
    whole, _, fraction = number.partition(".")
    return number if fraction.strip("0") else str(int(whole[:1_000]))


def _task(expression: str) -> Task:
    message = Message("user", f"{expression}=")
    return Task(id=expression, messages=(message,), answer=str(compute(expression)))


def arithmetic(config: ArithmeticConfig) -> ArithmeticEnvironment:
    """Make the environment."""
    return ArithmeticEnvironment(config)
