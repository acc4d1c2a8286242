"""What a fake SGLang server has beside `/generate`: health, what it serves, and ending requests by their id."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

from aiohttp import web


class NativeRoutes:
    """`/health`, `/health_generate`, `/model_info`, `/server_info` (also with `get_`) and `/abort_request`.

    Args:
        model: the path that the server says it serves.
    """

    def __init__(self, model: str) -> None:
        self.model = model
        self.aborts: list[str] = []
        self._waiting: dict[str, asyncio.Event] = {}

    def add_to(self, app: web.Application) -> None:
        """Add the routes."""
        for path in ("/health", "/health_generate"):
            app.router.add_get(path, self._health)
        for path in ("/model_info", "/get_model_info"):
            app.router.add_get(path, self._model_info)
        for path in ("/server_info", "/get_server_info"):
            app.router.add_get(path, self._server_info)
        app.router.add_post("/abort_request", self._abort)

    @contextlib.contextmanager
    def waiting(self, rid: Any) -> Iterator[asyncio.Event]:
        """Give an event that is set when the request of this id is aborted."""
        aborted = asyncio.Event()
        if isinstance(rid, str):
            self._waiting[rid] = aborted
        try:
            yield aborted
        finally:
            if isinstance(rid, str):
                self._waiting.pop(rid, None)

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def _model_info(self, request: web.Request) -> web.Response:
        info = {
            "model_path": self.model,
            "tokenizer_path": self.model,
            "is_generation": True,
            "weight_version": "default",
        }
        return web.json_response(info)

    async def _server_info(self, request: web.Request) -> web.Response:
        return web.json_response({"model_path": self.model, "served_model_name": self.model, "version": "fake"})

    async def _abort(self, request: web.Request) -> web.Response:
        """End one request, or all (`abort_all`); an unknown id is not an error, as SGLang has it."""
        body = json.loads(await request.read() or b"{}")
        rids = list(self._waiting) if body.get("abort_all") else [str(body.get("rid", ""))]
        self.aborts += rids
        for rid in rids:
            if rid in self._waiting:
                self._waiting[rid].set()
        return web.Response()


async def pause(seconds: float, aborted: asyncio.Event) -> None:
    """Wait, but no longer than until the request is aborted."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await aborted.wait()
