"""How a run is stopped: asked once, it ends what is in flight; asked again, it stops now; a third time, it is gone.

Invariants: whatever happens, the run can be resumed; the first signal decides the exit code, later ones do not.
Handlers are plain ones, not the event loop's, so that they hold from before there is a loop until the process ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from aworld_cli import underway
from aworld_cli.errors import Stopped

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: Two signals within these seconds are one: a terminal and a wrapper (timeout, make, uv) often send the same twice.
_ONE_PRESS = 0.25


class Interrupt(KeyboardInterrupt):
    """A stop signal came while no run was under way in an event loop."""


class Stopping:
    """A run's stop button.

    Args:
        grace: seconds that episodes in flight have to end once the run is asked to stop.
        say: tells the user a line; may be set later.
    """

    def __init__(self, grace: float = 0.0, say: Callable[[str], None] = lambda text: None) -> None:
        self.grace = grace
        self.say = say
        self.signal: signal.Signals | None = None  # the first one
        self.requested = False
        self.closing = False
        self.hint = ""
        self._last = float("-inf")
        self._presses = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._cancelled = False
        self._at_once = ""
        self._terminals = [fd for fd in (1, 2) if os.isatty(fd)]

    # -- what a run does with it ------------------------------------------------------------------------------

    def until_asked(self, items: Iterable[T]) -> Iterator[T]:
        """Yield `items` until the run is asked to stop."""
        for item in items:
            if self.requested:
                return
            yield item

    def check(self) -> None:
        """Raise Stopped when the run was asked to stop; called where it may stop, nothing being in flight."""
        if self.requested:
            self._cancelled = True  # it stops by itself: from here on it only closes what is open
            if self._timer is not None:
                self._timer.cancel()
            raise Stopped(f"stopped{self._by()}")

    @contextlib.contextmanager
    def at_once(self, why: str) -> Iterator[None]:
        """For as long as the block lasts the run stops at once when it is asked to; `why` it cannot wait."""
        before, self._at_once = self._at_once, why
        try:
            yield
        finally:
            self._at_once = before

    def ended_with(self) -> BaseException:
        """Return what ends the program once the run has stopped."""
        if self.signal is None or self.signal == signal.SIGINT:
            return KeyboardInterrupt()
        return Stopped(f"stopped{self._by()}")

    def _by(self) -> str:
        return "" if self.signal is None else f" by {self.signal.name}"

    # -- signals ----------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Listen to the stop signals. One that the process is told to ignore (nohup, a job in the background) stays so.

        Raises:
            Stopped: SIGTERM or SIGHUP came before the run began.
        """
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        heard = [number for number in STOP_SIGNALS if before[number] is not signal.SIG_IGN]
        for number in heard:
            signal.signal(number, self._handle)
        try:
            yield
        except Interrupt as error:
            if self.signal == signal.SIGINT:
                raise
            raise Stopped(f"stopped{self._by()}") from error
        finally:
            for number in heard:  # once stopped, the rest of the process must not be cut short by the same signal
                signal.signal(number, signal.SIG_IGN if self.signal is not None else before[number])

    def attach(self, task: asyncio.Task[Any]) -> None:
        """From now on signals stop `task`, the current one of a running event loop, instead of raising Interrupt."""
        self._task, self._loop = task, task.get_loop()

    def detach(self) -> None:
        """The event loop is gone."""
        self._task = self._loop = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal = signal.Signals(number)
        elif now - self._last < _ONE_PRESS:
            return
        self._last = now
        self._presses += 1
        if number == signal.SIGHUP:
            self._leave_terminal()
        if self._presses >= 3:
            self._end_process()
        if self._loop is None:
            if self._presses > 1:  # on its way out already
                return
            raise Interrupt(self.signal.name)
        if self._presses > 1 and not self.requested and not self.closing:  # nor has the loop come to the first one
            with contextlib.suppress(OSError):
                os.write(2, b"still busy: something keeps the event loop; once more ends the process at once\n")
        with contextlib.suppress(RuntimeError):  # the loop has just been closed: there is nothing left to stop
            self._loop.call_soon_threadsafe(self._ask if self._presses == 1 else self._stop_now)

    def _leave_terminal(self) -> None:
        """Write into nothing what would go to a terminal that has hung up: each write to it fails."""
        for fd in self._terminals:
            if not os.isatty(fd):
                nothing = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nothing, fd)
                os.close(nothing)

    def _end_process(self) -> None:
        """End the process as a kill would: the journal is whole at any instant, and children die with their parent."""
        text = f"ended at once{self._by()}; {self.hint}\n"
        if 2 in self._terminals:
            text = f"\x1b[?25h\n{text}"  # the live display hides the cursor
        with contextlib.suppress(OSError):
            os.write(2, text.encode())
        os._exit(130 if self.signal == signal.SIGINT else Stopped.exit_code)

    # -- in the event loop ------------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Stop scheduling; give what is in flight its time."""
        if self.closing or self._loop is None:
            return
        self.requested = True
        again = "press Ctrl-C again" if self.signal == signal.SIGINT else "a second signal"
        flying = underway.count()
        if self._at_once:
            self._tell(f"stopping now: {self._at_once}")
        elif not flying:
            self._tell("stopping: nothing is in flight")
        elif self.grace:
            self._tell(f"stopping: {_episodes(flying)} in flight, up to {self.grace:g} s; {again} to stop now")
            self._timer = self._loop.call_later(self.grace, self._expire)
            return
        else:
            self._tell(f"stopping now: {_episodes(flying)} cut short; --resume runs them again")
        self._cancel()

    def _stop_now(self) -> None:
        flying = underway.count()
        if self.closing or self._cancelled:
            self._tell("closing what is open; once more ends the process at once")
        else:
            self._tell(f"stopping now: {_episodes(flying)} cut short; --resume runs them again")
        self._cancel()

    def _expire(self) -> None:
        flying = underway.count()
        if flying and not self.closing:
            self._tell(f"stopping: {_episodes(flying)} not done within {self.grace:g} s; --resume runs them again")
        self._cancel()

    def _cancel(self) -> None:
        self.requested = True
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None and not self._cancelled and not self.closing:
            self._cancelled = True
            self._task.cancel()

    def _tell(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a terminal that is gone must not keep us going
            self.say(text)


def _episodes(number: int) -> str:
    return f"{number:,} episode{'' if number == 1 else 's'}"
