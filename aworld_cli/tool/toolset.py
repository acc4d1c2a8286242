"""All tools of a recipe under one roof: started together, called by name, closed together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from aworld_cli import underway
from aworld_cli.errors import RecipeError
from aworld_cli.tool.base import StdioServer, ToolResult, ToolSpec
from aworld_cli.tool.server import ToolServer
from aworld_cli.trajectory.message import ToolCall


class ToolSet:
    """The tool servers of a run; an async context manager."""

    def __init__(self, servers: Sequence[StdioServer], logs: Path) -> None:
        self.servers = [ToolServer(spec, logs / f"tool-{spec.name}.log") for spec in servers]
        self.logs = logs
        self.specs: tuple[ToolSpec, ...] = ()
        self._by_name: dict[str, ToolServer] = {}

    async def __aenter__(self) -> ToolSet:
        if self.servers:
            _divert_protocol_log(self.logs)
        try:
            await asyncio.gather(*(server.start() for server in self.servers))
            self._index()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        await asyncio.gather(*(server.close() for server in self.servers))

    def _index(self) -> None:
        specs: list[ToolSpec] = []
        for server in self.servers:
            for spec in server.tools:
                if spec.name in self._by_name:
                    both = f"{self._by_name[spec.name].spec.name!r} and {server.spec.name!r}"
                    raise RecipeError(f"two tool servers, {both}, both offer a tool called {spec.name!r}")
                self._by_name[spec.name] = server
                specs.append(spec)
        self.specs = tuple(specs)

    async def call(self, call: ToolCall) -> ToolResult:
        """Make one call that a model asked for; a call that makes no sense is a result with `is_error`."""
        server = self._by_name.get(call.name)
        if server is None:
            known = ", ".join(self._by_name) or "none"
            return ToolResult(f"there is no tool called {call.name!r}; tools: {known}", is_error=True)
        if call.arguments is None:
            return ToolResult(f"the arguments of {call.name} are not a JSON object", is_error=True)
        with underway.calling(call.name):
            return await server.call(call.name, call.arguments)


def _divert_protocol_log(logs: Path) -> None:
    """Send what the MCP SDK logs (a traceback for each line that is not protocol) to a file instead of stderr."""
    logger = logging.getLogger("mcp")
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        handler.close()
    logs.mkdir(parents=True, exist_ok=True)
    logger.addHandler(logging.FileHandler(logs / "mcp.log", delay=True))
    logger.propagate = False
