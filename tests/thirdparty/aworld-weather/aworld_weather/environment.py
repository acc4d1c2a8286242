"""The environment `rain`: how much falls at a station in some months."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from aworld_cli.environment import Task
from aworld_cli.trajectory import Grade, Message
from pydantic import BaseModel, ConfigDict, Field

from aworld_weather.stations import rain as table


class RainConfig(BaseModel):
    """Options of the environment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    months: int = Field(3, ge=1, le=12, description="Months of a question.")


class RainEnvironment:
    """200 questions; every fourth is a test."""

    name = "rain"

    def __init__(self, config: RainConfig) -> None:
        self.config = config

    def splits(self) -> Sequence[str]:
        return ("train", "test")

    def tasks(self, split: str, limit: int | None) -> list[Task]:
        if split not in self.splits():
            raise ValueError(f"rain has the splits train and test, not {split!r}")
        numbers = [number for number in range(200) if (number % 4 == 0) == (split == "test")]
        return [self._task(number) for number in numbers[:limit]]

    def _task(self, number: int) -> Task:
        chance = random.Random(number)
        station = chance.choice(sorted(table()))
        months = chance.sample(list(table()[station]), self.config.months)
        question = f"How many mm of rain fall at {station} in {', '.join(months)} together?"
        total = sum(table()[station][month] for month in months)
        return Task(
            id=f"rain-{number}",
            messages=(Message("user", question),),
            answer=str(total),
            metadata={"station": station, "months": months},
        )

    def grade(self, task: Task, answer: str | None, messages: Sequence[Message]) -> Grade:
        numbers = re.findall(r"\d+", answer or "")
        correct = numbers[-1:] == [task.answer]
        return Grade(float(correct), correct, {"expected": task.answer, "got": numbers[-1] if numbers else None})

    def corpus(self) -> Iterator[str]:
        for task in self.tasks("train", 50):
            yield task.messages[0].content


def rain(config: RainConfig) -> RainEnvironment:
    """Make the environment."""
    return RainEnvironment(config)
