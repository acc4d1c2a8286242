"""The model `rain-clerk`: looks every month up (all at once), has the calculator add, and answers."""

from __future__ import annotations

import random
import re

from aworld_cli.errors import EpisodeError
from aworld_cli.model import ChatRequest, ModelContext, Reply
from aworld_cli.trajectory import Message, ToolCall
from pydantic import BaseModel, ConfigDict, Field

_QUESTION = re.compile(r"rain fall at (\w+) in (.+) together")


class ClerkConfig(BaseModel):
    """Options of the model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    carelessness: float = Field(0, ge=0, le=1, description="Share of the episodes in which it forgets a month.")


class RainClerk:
    """What it does next follows from the conversation; whether it is careless, from the seed."""

    name = "rain-clerk"

    def __init__(self, config: ClerkConfig) -> None:
        self.config = config

    async def start(self) -> None:
        """Nothing to start."""

    async def close(self) -> None:
        """Nothing to close."""

    async def complete(self, request: ChatRequest) -> Reply:
        asked = next((found for message in request.messages if (found := _QUESTION.search(message.content))), None)
        if asked is None:
            raise EpisodeError("model", "nobody asks about rain", retryable=False)
        results = [message for message in request.messages if message.role == "tool"]
        added = [message.content for message in results if message.name == "calculator"]
        if added:
            return Reply(Message("assistant", f"It is {added[-1]} mm."), "stop")
        if results:
            return _call([("calculator", {"expression": "+".join(message.content for message in results)})])
        months = asked[2].split(", ")
        if random.Random(request.params.seed).random() < self.config.carelessness:
            months = months[1:] or months
        return _call([("rain", {"station": asked[1], "month": month}) for month in months])


def _call(calls: list[tuple[str, dict[str, str]]]) -> Reply:
    made = tuple(
        ToolCall(id=f"{name}-{number}", name=name, arguments=dict(given)) for number, (name, given) in enumerate(calls)
    )
    return Reply(Message("assistant", "", tool_calls=made), "tool_calls")


def rain_clerk(config: ClerkConfig, context: ModelContext) -> RainClerk:
    """Make the model."""
    return RainClerk(config)
