"""Models: what a policy is to an agent, and the sessions that keep a conversation's exact tokens."""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from aworld_cli.model.codec import Codec

__all__ = [
    "ChatModel",
    "ChatRequest",
    "Codec",
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


def __getattr__(name: str) -> Any:
    if name == "Codec":  # it needs `tokenizers`, of `pip install 'aworld-cli[tokens]'`
        from aworld_cli.model.codec import Codec

        return Codec
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
