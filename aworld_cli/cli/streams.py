"""Standard streams that keep a program going: what is closed leads nowhere, and so does a standard error that fails.

A closed one would else be the number of the next file that is opened, a run's journal say, and a log that cannot be
written (a full disk, a pipe whose reader is gone) is no reason to end a run.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

_MODES = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def secure() -> None:
    """Open the standard streams that are closed, and let writing to standard error never fail."""
    for number, (name, mode) in enumerate(_MODES):
        if getattr(sys, name) is None:
            _lead_nowhere(number)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - to the end
    sys.stderr = _Unfailing(sys.stderr)


class _Unfailing:
    """A text stream; once it cannot be written, all that is written to it is lost."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._lost():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with self._lost():
            self._stream.flush()

    @contextlib.contextmanager
    def _lost(self) -> Any:
        try:
            yield
        except OSError:
            with contextlib.suppress(OSError):
                _lead_nowhere(self._stream.fileno())


def _lead_nowhere(number: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing != number:
        os.dup2(nothing, number)
        os.close(nothing)
