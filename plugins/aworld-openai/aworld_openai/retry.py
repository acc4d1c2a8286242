"""Request-level retries: a bounded number of tries, and a bounded time from the first failure."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from aworld_cli import underway
from aworld_openai.failures import RequestFailed

T = TypeVar("T")
LONGEST_PAUSE: Final = 16.0  # seconds


@dataclass(frozen=True, slots=True)
class Retry:
    """How a request is tried again.

    Args:
        attempts: tries in all.
        budget: seconds after the first failure within which another try may start.
        pause: seconds before the second try; doubled with each one more, times a random factor in [0.5, 1].
    """

    attempts: int
    budget: float
    pause: float

    async def run(self, send: Callable[[], Awaitable[T]], failed: Callable[[RequestFailed], None]) -> T:
        """Return what `send` gives.

        Args:
            failed: is told of each failure that is followed by another try.

        Raises:
            RequestFailed: the last failure, with the number of tries in its text if there was more than one.
        """
        first = 0.0
        for attempt in range(1, self.attempts + 1):
            try:
                return await send()
            except RequestFailed as error:
                now = time.monotonic()
                first = first or now
                wait = max(self._pause(attempt), error.retry_after or 0.0)
                if not error.again or attempt == self.attempts or now + wait > first + self.budget:
                    raise self._final(error, attempt, now - first) from error.__cause__
                failed(error)
            with underway.phase("its request's next try"):
                await asyncio.sleep(wait)
        raise AssertionError("attempts is at least 1")

    def _pause(self, attempt: int) -> float:
        return min(self.pause * 2.0 ** (attempt - 1), LONGEST_PAUSE) * random.uniform(0.5, 1.0)

    def _final(self, error: RequestFailed, attempt: int, seconds: float) -> RequestFailed:
        text = str(error)
        if error.retry_after is not None:
            text += f"; it asks to wait {error.retry_after:.0f} s"
        if attempt > 1:
            text += f"; tried {attempt} times in {seconds:.0f} s"
        return RequestFailed(text, retryable=error.retryable, fatal=error.fatal)
