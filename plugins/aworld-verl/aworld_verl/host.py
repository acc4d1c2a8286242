"""The one event loop of the driver process, in a thread: the episode source lives on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any

from aworld_verl.episodes import EpisodeSource, load_source
from aworld_verl.settings import TrainSettings

_CLOSE_SECONDS = 30.0


class EpisodeHost:
    """Starts the source at once, so that it is ready by the time that verl is."""

    _instance: EpisodeHost | None = None

    def __init__(self, settings: TrainSettings) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[Future[Any]] = set()
        threading.Thread(target=self._loop.run_forever, name="episodes", daemon=True).start()
        self._source = self.submit(self._start(settings))

    @classmethod
    def get(cls, settings: TrainSettings) -> EpisodeHost:
        """The process's host; made on first use."""
        if cls._instance is None:
            cls._instance = cls(settings)
        return cls._instance

    @staticmethod
    async def _start(settings: TrainSettings) -> EpisodeSource:
        source = load_source(settings.source, settings.source_settings)
        await source.start()
        return source

    def source(self) -> EpisodeSource:
        """The started source; waits for it and raises what starting it raised."""
        source: EpisodeSource = self._source.result()
        return source

    def submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        """Run `work` on the loop."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._tasks.add(future)
        future.add_done_callback(self._tasks.discard)
        return future

    def close(self) -> None:
        """Cancel what still runs and close the source; errors in closing are raised."""
        for future in list(self._tasks):
            future.cancel()
        try:
            if self._source.done() and not self._source.cancelled() and self._source.exception() is None:
                asyncio.run_coroutine_threadsafe(self.source().close(), self._loop).result(_CLOSE_SECONDS)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            EpisodeHost._instance = None
