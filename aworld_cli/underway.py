"""What each episode of this process does at this moment, for whoever asks what a run is waiting for.

Invariant: an episode has an entry exactly while it is in flight. Keeping the table costs a few attributes a model or
tool call, so it is always kept; reading it needs no lock and no event loop, so that a signal handler may.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Underway:
    """An episode in flight; `began` and `since` are `time.monotonic()`.

    Args:
        phase: what it does or waits for, a few words that follow "waiting for".
        since: when the phase began.
        calls: the tool calls that are being made, each with when it began.
        worker: the asyncio task that runs the episode.
    """

    task: str
    sample: int
    began: float
    phase: str = "its start"
    since: float = 0.0
    attempt: int = 1
    turn: int = 0
    calls: dict[int, tuple[str, float]] = field(default_factory=dict)
    worker: asyncio.Task[Any] | None = None

    def waits_for(self, now: float) -> str:
        """Return what it waits for, and for how many seconds, as of `now`."""
        if self.calls:
            calls = list(self.calls.values())
            return ", ".join(f"tool call {name} {now - since:.1f} s" for name, since in calls)
        return f"{self.phase} {now - self.since:.1f} s"


_table: dict[int, Underway] = {}
_current: ContextVar[Underway | None] = ContextVar("underway", default=None)


def snapshot() -> list[Underway]:
    """Return the episodes in flight, the oldest first."""
    return list(_table.values())


def count() -> int:
    """Return how many episodes are in flight."""
    return len(_table)


def oldest() -> Underway | None:
    """Return the episode that has been in flight longest."""
    return next(iter(_table.values()), None)


@contextmanager
def episode(task: str, sample: int) -> Iterator[Underway]:
    """Enter an episode into the table; within, `phase` and `calling` speak of it.

    A runtime that keeps an episode over several attempts enters it first; the attempts then find that entry.
    """
    known = _current.get()
    if known is not None and (known.task, known.sample) == (task, sample):
        yield known
        return
    now = time.monotonic()
    entry = Underway(task, sample, now, since=now, worker=asyncio.current_task())
    _table[id(entry)] = entry
    token = _current.set(entry)
    try:
        yield entry
    finally:
        _current.reset(token)
        del _table[id(entry)]


@contextmanager
def phase(name: str, *, turn: int | None = None) -> Iterator[None]:
    """Say what the current episode does, for as long as the block lasts; nothing happens outside an episode.

    Args:
        name: a few words that follow "waiting for", such as "the model" or "a retry".
        turn: the model's turn, when it is another one now.
    """
    entry = _current.get()
    if entry is None:
        yield
        return
    before = entry.phase
    entry.phase, entry.since = name, time.monotonic()
    if turn is not None:
        entry.turn = turn
    try:
        yield
    finally:
        entry.phase, entry.since = before, time.monotonic()


@contextmanager
def calling(tool: str) -> Iterator[None]:
    """Say that the current episode calls a tool; several calls may run side by side."""
    entry = _current.get()
    if entry is None:
        yield
        return
    key = object()
    entry.calls[id(key)] = (tool, time.monotonic())
    try:
        yield
    finally:
        del entry.calls[id(key)]
