"""The bodies that a fake model server answers with."""

from __future__ import annotations

import dataclasses
from typing import Any

from aworld_cli.model.base import Generation
from aworld_cli.trajectory.message import Message


def chat_completion(given: str | Message, model: str = "fake") -> dict[str, Any]:
    """Return the body of a chat completion; its token counts are those of its words."""
    message = Message("assistant", given) if isinstance(given, str) else given
    plain = dataclasses.replace(message, role="assistant").to_json()
    words = len(message.content.split())
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": plain,
                "finish_reason": "tool_calls" if message.tool_calls else "stop",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": words, "total_tokens": 1 + words},
    }


def generated(made: Generation, prompt_tokens: int, *, logprobs: bool) -> dict[str, Any]:
    """Return the body of an answer of SGLang's `/generate`; its `text` is empty, as without a tokenizer."""
    meta: dict[str, Any] = {
        "id": "fake",
        "finish_reason": {"type": made.stop, "length": len(made.ids)} if made.stop == "length" else {"type": made.stop},
        "prompt_tokens": prompt_tokens,
        "completion_tokens": len(made.ids),
    }
    if logprobs:
        meta["output_token_logprobs"] = [[p, i, None] for p, i in zip(made.logprobs, made.ids, strict=True)]
    return {"text": "", "output_ids": made.ids, "meta_info": meta}
