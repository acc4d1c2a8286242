"""How far a stage that collects is, for whoever watches: figures while episodes end, else what it waits for.

Watching costs nothing that counts: at most ten reports a second, and one a second while nothing ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

from aworld_cli import underway
from aworld_cli.run.context import StageContext
from aworld_cli.trainer.base import StageProgress

_REPORT_SECONDS = 0.1
QUIET_SECONDS = 10.0


class Tracker:
    """Counts what ends in this process, and reports it.

    Args:
        total: the stage's episodes; `done` of them are settled already.
    """

    def __init__(self, context: StageContext, total: int, done: int) -> None:
        self.context = context
        self.total = total
        self.done = self.skipped = done
        self.graded = self.errors = self.overflows = self.tokens = 0
        self.reward = 0.0
        self.began = self.last = context.clock.seconds
        self.ended = time.monotonic()

    def advance(self, record: dict[str, Any]) -> None:
        """Count an episode's record."""
        self.done += 1
        self.ended = time.monotonic()
        grade = record.get("grade")
        if grade is not None:
            self.graded += 1
            self.reward += grade["reward"]
        if record["outcome"] == "error":
            self._failed(record)
        elif record["limit"] == "context":
            self._overflowed(record)
        self.tokens += sum(turn["completion_tokens"] for turn in record["turns"])
        now = self.context.clock.seconds
        if now - self.last < _REPORT_SECONDS and self.done < self.total:
            return
        self.last = now
        self.context.clock.tick()
        self._report()

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Report what the oldest episode waits for whenever none has ended for a while."""
        watch = asyncio.create_task(self._watch(), name="watch")
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(1)
            self.context.clock.tick()
            now = time.monotonic()
            oldest = underway.oldest()
            if oldest is not None and now - self.ended >= QUIET_SECONDS:
                task = " ".join(oldest.task.split())[:60]
                what = oldest.waits_for(now)
                self._report(f"waiting: the oldest episode, {task}#{oldest.sample}, {now - oldest.began:.0f} s: {what}")

    def _report(self, note: str = "") -> None:
        seconds = max(self.context.clock.seconds - self.began, 1e-9)
        figures = {
            "episodes/s": (self.done - self.skipped) / seconds,
            "tokens/s": self.tokens / seconds,
            "reward": self.reward / max(self.graded, 1),
            "errors": float(self.errors),
        }
        self.context.listener.stage_progress(StageProgress(self.done, self.total, figures, note))

    def _failed(self, record: dict[str, Any]) -> None:
        """Tell of the first failure; the others are counted, and stand in the journal."""
        self.errors += 1
        if self.errors == 1:
            error = record["error"]
            self._warn(record, f"failed ({error['kind']}): {error['message']}")

    def _overflowed(self, record: dict[str, Any]) -> None:
        """Tell of the first episode that did not fit the model's context: it may be too short for all of them."""
        self.overflows += 1
        if self.overflows == 1:
            said = record.get("extra", {}).get("context", "")
            self._warn(record, f"does not fit the model's context, and is graded as it is: {said}")

    def _warn(self, record: dict[str, Any], text: str) -> None:
        task = record["episode"]["task"]
        self.context.listener.note(f"warning: task {task!r} {' '.join(text.split())[:500]}")
