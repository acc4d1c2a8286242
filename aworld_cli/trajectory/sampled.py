"""Which messages of a record a model wrote in that episode: those, and no others, are learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def sampled_messages(record: Mapping[str, Any]) -> list[bool]:
    """Return one flag a message: whether the model sampled it.

    Each turn leaves one assistant message, so the last as many assistant messages as there are turns are sampled; those
    before them belong to the task (worked examples in its prompt, say).
    """
    messages = record.get("messages") or []
    left = len(record.get("turns") or ())
    flags = [False] * len(messages)
    for at in range(len(messages) - 1, -1, -1):
        if left > 0 and messages[at].get("role") == "assistant":
            flags[at] = True
            left -= 1
    return flags
