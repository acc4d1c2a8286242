"""Models: what a policy is to an agent, and the sessions that keep a conversation's exact tokens."""

from aworld_cli.model.base import (
    ChatModel,
    ChatRequest,
    Generation,
    HasCheckpoint,
    Model,
    ModelContext,
    ModelSession,
    Reply,
    SamplingParams,
    Stop,
    TokenModel,
)
from aworld_cli.model.tool_calls import render_tool_call

__all__ = [
    "ChatModel",
    "ChatRequest",
    "Generation",
    "HasCheckpoint",
    "Model",
    "ModelContext",
    "ModelSession",
    "Reply",
    "SamplingParams",
    "Stop",
    "TokenModel",
    "render_tool_call",
]
