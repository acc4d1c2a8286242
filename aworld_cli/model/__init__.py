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
    TokenModel,
)

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
    "TokenModel",
]
