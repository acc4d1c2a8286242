"""A model that follows a script and remembers what it was asked."""

from __future__ import annotations

from typing import Any

from aworld_cli.model.base import ChatRequest, Reply
from aworld_cli.model.scripted import ScriptedConfig, ScriptedModel


class RecordingModel(ScriptedModel):
    """The built-in model `scripted`; `requests` holds what it was asked, in order."""

    def __init__(self, *replies: Any) -> None:
        """`replies` are those of the recipe: texts, `{"tool": NAME, "arguments": {...}}`, or lists of such calls."""
        super().__init__(ScriptedConfig(replies=replies or ("ok",)))
        self.requests: list[ChatRequest] = []

    async def complete(self, request: ChatRequest) -> Reply:
        """See `ChatModel.complete`."""
        kept = ChatRequest(tuple(request.messages), tuple(request.tools), request.params)  # the session's list grows
        self.requests.append(kept)
        return await super().complete(request)
