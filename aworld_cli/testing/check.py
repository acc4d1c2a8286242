"""One check of the conformance kit: a name, what it does, and bounds on what it may cost and leave behind."""

from __future__ import annotations

import signal
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from aworld_cli.testing.surroundings import Surroundings


class Failed(AssertionError):
    """What the kit has found; its cause is the plugin's own exception, where there was one."""


@dataclass(frozen=True, slots=True)
class Check:
    """A named callable. Raises AssertionError with what is wrong and how to mend it, or `unittest.SkipTest`.

    Args:
        name: such as `tool/search: options are strict`.
        work: does it.
        seconds: after which it has failed.
    """

    name: str
    work: Callable[[], None]
    seconds: float = 60.0

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        __tracebackhide__ = True
        surroundings = Surroundings()
        surroundings.enter()
        problems: list[str] = []
        try:
            with deadline(self.seconds, self.name):
                self.work()
        except Failed as error:  # raised again from here, for the kit's own frames tell an author nothing
            raise Failed(str(error)) from error.__cause__
        finally:  # what failed may have left something too, which the next check must not find
            problems = surroundings.leave()
        if problems:
            fail("\n".join(f"{self.name}: {problem}" for problem in problems))


def fail(text: str, cause: BaseException | None = None) -> NoReturn:
    """End the check: `text` says what is wrong and how to mend it."""
    __tracebackhide__ = True
    raise Failed(text) from cause


def require(holds: Any, text: str) -> None:
    """End the check unless something holds."""
    __tracebackhide__ = True
    if not holds:
        fail(text)


def skip(text: str) -> NoReturn:
    """Skip the check, which pytest shows with the text."""
    __tracebackhide__ = True
    raise unittest.SkipTest(text)


class _OverdueError(BaseException):
    """Not an Exception, so that no plugin catches it."""


@contextmanager
def deadline(seconds: float, what: str) -> Iterator[None]:
    """Fail when the block takes longer, even where it blocks the event loop; no bound outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def overdue(*_: object) -> None:
        raise _OverdueError

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, overdue)
    # More than once: the first may end a task that nobody waits for.
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds, 5.0)
    try:
        yield
    except _OverdueError as error:
        fail(f"{what}: not done within {seconds:g} s; find what waits or loops for ever", error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if outer:  # someone else's alarm, such as pytest-timeout's
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - began), 0.001))
