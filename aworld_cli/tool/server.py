"""One MCP server process and the one task that opens it, serves it and closes it.

MCP's cancel scopes must be left in the task that entered them, so the owner task alone opens and closes the client;
calls come from any task. A server that dies is started again with growing pauses; the calls that were on it end in
an `is_error` result, so that the episode can go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aworld_cli.errors import EpisodeError, MachineError
from aworld_cli.tool.base import StdioServer, ToolResult, ToolSpec

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

logger = logging.getLogger(__name__)
_GUARD = str(Path(__file__).with_name("guard.py"))
MAX_RESULT_CHARACTERS = 20_000
RESTART_PAUSES = (0.0, 0.5, 2.0, 5.0)


class ToolServer:
    """A running MCP server. `start` and `close` may be called from any task.

    Args:
        spec: how to start it.
        log: the file that takes its standard error.
    """

    def __init__(self, spec: StdioServer, log: Path) -> None:
        self.spec = spec
        self.log = log
        self.tools: tuple[ToolSpec, ...] = ()
        self.restarts = 0
        self._client: Client | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ready = False
        self._closing = asyncio.Event()
        self._closed = False
        self._restarting = asyncio.Lock()
        self._started_at = 0.0
        self._log_start = 0

    async def start(self) -> None:
        """Start the process and list its tools.

        Raises:
            MachineError: it does not start or does not answer within `start_timeout` seconds.
        """
        self._check_program()
        self._ready, self._closing = False, asyncio.Event()
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started_at = time.monotonic()
        self._owner = asyncio.create_task(self._own(ready), name=f"tool-server-{self.spec.name}")
        try:
            async with asyncio.timeout(self.spec.start_timeout):
                await asyncio.shield(ready)
        except TimeoutError as error:
            await self._stop()
            seconds = f"{self.spec.start_timeout:g} s"
            raise MachineError(
                f"tool server {self.spec.name!r} did not answer within {seconds} of its start; see {self.log}"
            ) from error
        except BaseException:
            await self._stop()
            raise

    async def close(self) -> None:
        """Stop the process for good; returns when it is gone. Calls from now on fail."""
        self._closed = True
        await self._stop()

    async def _stop(self) -> None:
        self._closing.set()
        owner, self._owner = self._owner, None
        if owner is None:
            return
        if not self._ready:  # deep in its start, it would not notice
            owner.cancel()
        done, _ = await asyncio.wait({owner}, timeout=5)
        if not done:
            owner.cancel()
            await asyncio.wait({owner}, timeout=10)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call a tool; whatever goes wrong with it is a result with `is_error`.

        Raises:
            EpisodeError: the server is down and cannot be brought back.
        """
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        client = self._client
        if client is None:
            await self._revive()
            client = self._client
            assert client is not None
        try:
            async with asyncio.timeout(self.spec.call_timeout):
                result = await client.call_tool(name, arguments)
        except TimeoutError:
            return ToolResult(f"{name} gave no answer within {self.spec.call_timeout:g} s", is_error=True)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and await self._is_gone():
                self._forget(client)
                return ToolResult(f"the tool server {self.spec.name!r} died during the call", is_error=True)
            return ToolResult(f"{name}: {error}", is_error=True)
        except (ValueError, RuntimeError) as error:  # a result that breaks the protocol or its own schema
            return ToolResult(f"{name} gave an unusable result: {_one_line(error)}", is_error=True)
        return _read_result(result)

    async def _is_gone(self) -> bool:
        """Tell a connection that ended from a server that answers with the same code."""
        owner = self._owner
        if owner is None or owner.done() or self._client is None:
            return True
        try:
            async with asyncio.timeout(5):
                await self._client.list_tools()
        except Exception:
            return True
        return False

    def _forget(self, client: Client) -> None:
        if self._client is client:
            self._client = None
            self._closing.set()
            logger.warning("tool server %r died; its calls in flight were answered with an error", self.spec.name)

    async def _revive(self) -> None:
        async with self._restarting:
            if self._client is not None:
                return
            if self._closed:
                raise EpisodeError("tool", f"tool server {self.spec.name!r} is closed", retryable=False)
            await self._stop()
            if time.monotonic() - self._started_at > 60:
                self.restarts = 0
            if self.restarts >= len(RESTART_PAUSES):
                text = f"tool server {self.spec.name!r} died {self.restarts + 1} times within a minute; see {self.log}"
                raise EpisodeError("tool", text, retryable=False, fatal=True)
            await asyncio.sleep(RESTART_PAUSES[self.restarts])
            self.restarts += 1
            try:
                await self.start()
            except MachineError as error:
                raise EpisodeError("tool", str(error)) from error

    async def _own(self, ready: asyncio.Future[None]) -> None:
        try:
            await self._serve(ready)
        except BaseException as error:
            self._client = None
            if not ready.done():
                ready.set_exception(MachineError(self._start_failure(error)))
                ready.exception()  # retrieved here: `start` may have given up waiting
            elif isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._client = None

    async def _serve(self, ready: asyncio.Future[None]) -> None:
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client

        guard = ["-S", "-E", _GUARD, str(os.getpid()), self.spec.command, *self.spec.args]
        parameters = StdioServerParameters(
            command=sys.executable, args=guard, env=dict(self.spec.env), cwd=self.spec.cwd
        )
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a") as errlog:
            self._log_start = errlog.tell()
            async with Client(stdio_client(parameters, errlog=errlog)) as client:
                self.tools = await _list_tools(client)
                if not self.tools:
                    raise MachineError("it offers no tools")
                self._client, self._ready = client, True
                if not ready.done():
                    ready.set_result(None)
                await self._closing.wait()
                self._client = None

    def _check_program(self) -> None:
        command, cwd = self.spec.command, self.spec.cwd
        if cwd is not None and os.sep in command:
            command = os.path.join(cwd, command)  # noqa: PTH118 (an absolute command stays as it is)
        if shutil.which(command, path=self.spec.env.get("PATH")) is None:
            raise MachineError(
                f"tool server {self.spec.name!r}: the program {self.spec.command!r} is not found; install it, or "
                "correct `command`"
            )

    def _start_failure(self, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        last = ""
        with contextlib.suppress(OSError):
            said = self.log.read_bytes()[self._log_start :].decode(errors="replace")
            lines = said.strip().splitlines()
            last = f": {lines[-1]}" if lines else ""
        return f"tool server {self.spec.name!r} did not start ({_one_line(error)}{last}); see {self.log}"


async def _list_tools(client: Client) -> tuple[ToolSpec, ...]:
    found: list[ToolSpec] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += [ToolSpec(tool.name, tool.description or "", dict(tool.input_schema)) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return tuple(found)


def _read_result(result: CallToolResult) -> ToolResult:
    parts = [_block_text(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return ToolResult(truncate_middle("\n".join(parts), MAX_RESULT_CHARACTERS), is_error=bool(result.is_error))


def _block_text(block: object) -> str:
    """Return what a block of a result says as text; one that holds none is named by its type."""
    for holder in (block, getattr(block, "resource", None)):
        text = getattr(holder, "text", None)
        if isinstance(text, str):
            return text
    return f"[{getattr(block, 'type', 'unknown')}]"


def truncate_middle(text: str, limit: int) -> str:
    """Return `text` with its middle cut out when it is longer than `limit` characters, and a note of how much."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
