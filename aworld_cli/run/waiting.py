"""What a run is waiting for, written down when someone asks: `kill -USR1 PID`.

It must work when all else hangs: the text is made in the signal's handler, without the event loop, a lock or the
display. It goes to standard error and, with every stack, to `logs/waiting-N.txt` of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from aworld_cli import underway

_SHOWN = 20  # episodes on standard error; the file has them all
_WIDTH = 40  # characters of a task's id
_others: dict[int, int] = {}


class WaitingReport:
    """Answers SIGUSR1.

    Args:
        detailed: show stacks on standard error too.
        logs: the folder that takes the files; nothing is written before it is known.
        title: what is waiting, in a few words.
    """

    def __init__(self, *, detailed: bool = False, logs: Path | None = None, title: str = "this process") -> None:
        self.detailed = detailed
        self.logs = logs
        self.title = title
        self.loop: asyncio.AbstractEventLoop | None = None

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Listen to SIGUSR1 for as long as the block lasts; later ones must not end a run that is done."""
        signal.signal(signal.SIGUSR1, self._handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)

    def listen(self) -> None:
        """Listen to SIGUSR1 from now on."""
        signal.signal(signal.SIGUSR1, self._handle)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        try:
            whole = "\n".join(self.lines(frame))
            lines = whole.splitlines() if self.detailed else self._table(_SHOWN)
            path = self._write(whole)
        except Exception as error:  # a report that fails must not end the run
            path, lines = None, [f"{self.title}: cannot say what it waits for: {type(error).__name__}: {error}"]
        if path is not None:
            lines.append(f"with all stacks: {path}")
        with contextlib.suppress(OSError):
            os.write(2, ("\n".join(lines) + "\n").encode(errors="replace"))
        for pidfd in list(_others.values()):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(pidfd, signal.SIGUSR1)

    def lines(self, frame: FrameType | None = None) -> list[str]:
        """Return the whole report; `frame` is where the main thread is."""
        return [*self._table(None, stacks=True), *self._tasks(), *_threads(frame)]

    def _table(self, most: int | None, *, stacks: bool = False) -> list[str]:
        now = time.monotonic()
        found = underway.snapshot()
        plural = "" if len(found) == 1 else "s"
        head = f"{self.title}: {len(found):,} episode{plural} in flight at {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        if not found:
            return [head]
        width = min(_WIDTH, max(len("task"), *(len(entry.task) for entry in found)))
        lines = [f"{head}, the oldest first", f"{'age':>9}  {'task':<{width}}  sample  attempt  turn  waiting for"]
        for entry in found[:most]:
            task = " ".join(entry.task.split())
            task = task if len(task) <= width else f"{task[: width - 3]}..."
            age = f"{now - entry.began:.1f} s"
            where = f"{entry.sample:>6}  {entry.attempt:>7}  {entry.turn:>4}  {entry.waits_for(now)}"
            lines.append(f"{age:>9}  {task:<{width}}  {where}")
            if stacks and entry.worker is not None:
                lines += [f"{'':>11}at {place}" for place in _places(entry.worker)]
        if len(found) > len(found[:most]):
            lines.append(f"{'':>11}and {len(found) - len(found[:most]):,} more")
        return lines

    def _tasks(self) -> list[str]:
        """Return the other tasks of the event loops, each with the chain of coroutines that it waits in."""
        workers = {entry.worker for entry in underway.snapshot() if entry.worker is not None}
        loops = {worker.get_loop() for worker in workers} | ({self.loop} if self.loop is not None else set())
        lines = ["other tasks of the event loop:"] if loops else []
        for loop in loops:
            for task in sorted(asyncio.all_tasks(loop) - workers, key=lambda task: task.get_name()):
                lines.append(f"  {task.get_name()}")
                lines += [f"{'':>11}at {place}" for place in _places(task)]
        return lines

    def _write(self, text: str) -> Path | None:
        if self.logs is None:
            return None
        with contextlib.suppress(OSError):
            self.logs.mkdir(parents=True, exist_ok=True)
            for number in range(1, 10_000):
                path = self.logs / f"waiting-{number}.txt"
                with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8", errors="replace") as file:
                    file.write(text + "\n")
                    return path
        return None


def forward_to(pid: int) -> None:
    """Pass SIGUSR1 on to a process of ours that listens to it; it must be a child that is not reaped yet."""
    with contextlib.suppress(OSError):
        _others[pid] = os.pidfd_open(pid)  # a number may come to mean another process, a descriptor does not


def forward_no_more(pid: int) -> None:
    """Undo `forward_to`."""
    pidfd = _others.pop(pid, None)
    if pidfd is not None:
        os.close(pidfd)


def _places(task: asyncio.Task[Any]) -> Iterator[str]:
    """Yield where a task waits, from its outermost coroutine to what it awaits at last."""
    awaited: Any = task.get_coro()
    while awaited is not None:
        frame = next((f for n in ("cr_frame", "gi_frame", "ag_frame") if (f := getattr(awaited, n, None))), None)
        if frame is not None:
            yield _place(frame)
        following = [getattr(awaited, name, None) for name in ("cr_await", "gi_yieldfrom", "ag_await")]
        awaited = next((item for item in following if item is not None), None)


def _place(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"


def _threads(frame: FrameType | None) -> Iterator[str]:
    """Yield the stack of each thread; a main thread that is not in its selector keeps the event loop from working."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, top in sys._current_frames().items():
        main = ident == threading.main_thread().ident
        yield f"thread {names.get(ident, ident)}:"
        for entry in traceback.extract_stack(frame if main and frame is not None else top):
            yield f"{'':>11}at {entry.filename}:{entry.lineno} {entry.name}"
