"""One JSON object a line, to the descriptor that the parent reads (the driver's `--events-fd`)."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from typing import Any

_lock = threading.Lock()
_fd: int | None = None
#: Set once the run's end, good or bad, has been told.
told_the_end = threading.Event()


def open_events(fd: int) -> None:
    """Send events to `fd` from now on; our children must not hold it open."""
    global _fd
    os.set_inheritable(fd, False)
    _fd = fd


def emit(event: str, **data: Any) -> None:
    """Write one event; a parent that is gone is not an error here (the driver notices by itself)."""
    if event in ("done", "error"):
        told_the_end.set()
    if _fd is None:
        return
    line = json.dumps({"event": event, **data}, default=float) + "\n"
    with _lock, contextlib.suppress(BrokenPipeError):
        os.write(_fd, line.encode())
