"""Runs a plugin's code so that all it can do to this process is to fail.

What it prints goes to stderr, even below Python (file descriptor 1); the working directory, `sys.stdout` and
`sys.stderr` are afterwards what they were. Containments may nest and overlap in threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

_LONGEST = 1_000  # characters of an exception's text
_open = open  # a plugin may put another in its place

_lock = Lock()
_depth = 0
_before: dict[str, Any] = {}


@contextmanager
def contained() -> Iterator[None]:
    """Contain what is done inside; exceptions pass."""
    _enter()
    try:
        yield
    finally:
        _leave()


@contextmanager
def silence() -> Iterator[None]:
    """Drop what is written to stderr: for the shell's completion, while a person types."""
    try:
        saved = os.dup(2)
    except OSError:  # closed already
        yield
        return
    empty = os.open(os.devnull, os.O_WRONLY)
    try:
        _flush(sys.stderr)
        os.dup2(empty, 2)
        yield
    finally:
        _flush(sys.stderr)
        os.dup2(saved, 2)
        os.close(empty)
        os.close(saved)


def describe(error: BaseException) -> str:
    """Return an exception as one line, whatever its own text does."""
    try:
        text = " ".join(str(error).split())
    except KeyboardInterrupt:
        raise
    except BaseException as second:  # a broken __str__ of a plugin's own class: SystemExit, its own
        text = f"its text cannot be had ({_name(second)})"
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}..."
    return f"{_name(error)}: {text or 'no message'}"


def _name(error: BaseException) -> str:
    return str(type.__dict__["__name__"].__get__(type(error)))  # a metaclass may have a `__name__` of its own


def _enter() -> None:
    global _depth
    with _lock:
        _depth += 1
        if _depth > 1:
            return
        _before.update(stdout=sys.stdout, stderr=sys.stderr, cwd=_directory(), fd=None)
        _flush(sys.stdout)  # what we wrote before is ours
        with suppress(OSError):  # either may be closed
            saved = os.dup(1)
            try:
                os.dup2(2, 1)
            except OSError:
                os.close(saved)
                raise
            _before["fd"] = saved
        sys.stdout = _to_stderr()


def _leave() -> None:
    global _depth
    with _lock:
        _depth -= 1
        if _depth:
            return
        _flush(sys.__stdout__)  # a plugin may have written there
        _flush(sys.stdout)
        sys.stdout, sys.stderr = _before["stdout"], _before["stderr"]
        if _before["fd"] is not None:
            os.dup2(_before["fd"], 1)
            os.close(_before["fd"])
        if _before["cwd"] not in (None, _directory()):
            with suppress(OSError):
                os.chdir(_before["cwd"])


def _to_stderr() -> Any:
    """Return a new stream on file descriptor 2: a plugin may close it, or wrap it and let go of it; none shares it."""
    try:
        return _open(  # and left open: handlers that the plugin made of it go on using it
            2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
        )
    except OSError:
        return sys.stderr


def _directory() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return None


def _flush(stream: TextIO | None) -> None:
    with suppress(Exception):  # it may be a plugin's own
        if stream is not None:
            stream.flush()
