"""Messages between the command line and the worker: a length of 4 bytes, then a pickle. Both ends are ours."""

from __future__ import annotations

import pickle
import struct
from typing import Any

HEADER = struct.Struct("<I")


def pack(message: Any) -> bytes:
    """Return the frame of a message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> Any:
    """Return the message in a frame's body."""
    return pickle.loads(body)
