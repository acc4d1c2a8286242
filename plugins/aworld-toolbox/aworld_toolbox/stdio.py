"""Serving an MCP server over this process's stdin and stdout, with nothing but the protocol on stdout.

From the first moment, before the server's modules are imported, file descriptor 0 is the null device and 1 is
stderr: neither a stray print nor a child process can touch the protocol, which has private duplicates.

The messages go through asyncio's own pipe transports. The SDK's transport hands every message to worker
threads three times (read, write, flush); without them a call costs 1.0 instead of 1.4 ms and half the CPU.
"""

import asyncio
import gc
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

LONGEST_MESSAGE = 64 * 2**20
"""Bytes of the longest message that is read; a longer one ends the server."""

_PATIENCE = 1.0  # seconds for the answers due when stdin ends; MCP clients terminate a server after 2


def serve(build: Callable[[], "MCPServer"]) -> None:
    """Build a server and serve it over stdio until stdin ends."""
    wire_in, wire_out = _claim(0, "rb"), _claim(1, "wb")
    server = build()
    # What is loaded by now lives as long as the process: keep the collector from walking it again and again.
    gc.collect()
    gc.freeze()
    low_level = getattr(server, "_lowlevel_server", None)  # the SDK's MCPServer takes no streams of one's own
    if low_level is not None and _is_pipe(wire_in) and _is_pipe(wire_out):
        asyncio.run(_serve_pipes(low_level, wire_in, wire_out))
        return
    os.dup2(wire_in.fileno(), 0)
    os.dup2(wire_out.fileno(), 1)
    server.run("stdio")


def _claim(descriptor: int, mode: str) -> BinaryIO:
    """A private duplicate of stdin or stdout, whose own descriptor is diverted."""
    sys.stdout.flush()
    private = cast(BinaryIO, os.fdopen(os.dup(descriptor), mode, buffering=0))
    diversion = os.open(os.devnull, os.O_RDONLY) if descriptor == 0 else os.dup(2)
    os.dup2(diversion, descriptor)
    os.close(diversion)
    return private


def _is_pipe(stream: BinaryIO) -> bool:
    mode = os.fstat(stream.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


async def _serve_pipes(low_level: Any, wire_in: BinaryIO, wire_out: BinaryIO) -> None:
    from mcp.server.stdio import stdio_server

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(LONGEST_MESSAGE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), wire_in)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), wire_out
    )
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    wire: Any = _Wire(reader, writer)  # has the part of anyio.AsyncFile that the SDK uses
    async with stdio_server(wire, wire) as (read, write):
        await low_level.run(read, write, low_level.create_initialization_options())
    writer.close()
    with suppress(OSError, TimeoutError):
        await asyncio.wait_for(writer.wait_closed(), _PATIENCE)  # what the reader has not taken yet


class _Wire:
    """The two ends of the wire as text: lines to iterate over, and `write` and `flush`.

    After the last line it waits for the answers still due, since the SDK drops what is unanswered when its
    input ends: so `echo '{...}' | python -m ...` gets its answer. Keys are told by their text, which is safe
    enough: inside a JSON string the quotes would be escaped, and a miscount costs at most `_PATIENCE`.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._due = 0
        self._none_due = asyncio.Event()

    def __aiter__(self) -> "_Wire":
        return self

    async def __anext__(self) -> str:
        line = await self._reader.readline()
        if not line:
            await self._answered()
            raise StopAsyncIteration
        if b'"method"' in line:
            self._count(b'"id"' in line, b'"notifications/cancelled"' in line)
        return line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())
        self._count(False, '"method"' not in text)

    async def flush(self) -> None:
        """Wait while the reader at the other end is behind."""
        await self._writer.drain()

    def _count(self, asked: bool, settled: bool) -> None:
        self._due = max(0, self._due + asked - settled)
        if self._due:
            self._none_due.clear()
        else:
            self._none_due.set()

    async def _answered(self) -> None:
        if self._due:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._none_due.wait(), _PATIENCE)
