"""The built-in model `scripted`: replies from the recipe, for dry runs that need no key, GPU or download.

It keeps no state: which reply is due follows from the conversation alone, so episodes may run side by side.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from aworld_cli.model.base import ChatRequest, ModelContext, Reply
from aworld_cli.resources import Resources
from aworld_cli.trajectory.message import Message, ToolCall


class ScriptedCall(BaseModel):
    """A tool call in place of a text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool: str = Field(min_length=1, description="The tool that is called.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="What it is called with.")


def _form(value: Any) -> str:
    if isinstance(value, dict | ScriptedCall):
        return "call"
    return "calls" if isinstance(value, list | tuple) else "text"


ScriptedReply = Annotated[
    Annotated[str, Tag("text")]
    | Annotated[ScriptedCall, Tag("call")]
    | Annotated[tuple[ScriptedCall, ...], Field(min_length=1), Tag("calls")],
    Discriminator(_form),
]


class ScriptedConfig(BaseModel):
    """Options of `model: {kind: scripted}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    replies: tuple[ScriptedReply, ...] = Field(
        min_length=1,
        description="What the model says, turn by turn; the last one is said again in all later turns. Each is a text, "
        "a tool call `{tool: NAME, arguments: {...}}`, or a list of such calls, which are made side by side.",
    )


class ScriptedModel:
    """Says its replies in order: the number of the turn is that of the assistant messages so far."""

    name = "scripted"

    def __init__(self, config: ScriptedConfig) -> None:
        self.config = config

    def resources(self) -> Resources:
        """Nothing beside this process."""
        return Resources()

    async def start(self) -> None:
        """Nothing to get ready."""

    async def close(self) -> None:
        """Nothing to free."""

    async def complete(self, request: ChatRequest) -> Reply:
        """See `ChatModel.complete`; tokens are counted as words."""
        await asyncio.sleep(0)  # as a real model does, so that episodes alternate and a cancellation gets through
        turn = sum(message.role == "assistant" for message in request.messages)
        reply = self.config.replies[min(turn, len(self.config.replies) - 1)]
        prompt = sum(len(message.content.split()) for message in request.messages)
        if isinstance(reply, str):
            return Reply(Message("assistant", reply), "stop", prompt, len(reply.split()))
        calls = (reply,) if isinstance(reply, ScriptedCall) else reply
        made = tuple(
            ToolCall(id=f"call_{turn}_{number}", name=call.tool, arguments=dict(call.arguments))
            for number, call in enumerate(calls)
        )
        return Reply(Message("assistant", "", tool_calls=made), "tool_calls", prompt, len(made))


def scripted(config: ScriptedConfig, context: ModelContext) -> ScriptedModel:
    """Make the model; it needs nothing of the run."""
    return ScriptedModel(config)
