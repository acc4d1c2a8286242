"""A real MCP server that misbehaves as its first argument says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

mode = sys.argv[1]
if mode == "exits":
    sys.exit("cannot find my configuration")
if mode == "silent":
    time.sleep(600)
if mode == "prints":
    os.write(1, b"hello, I am not protocol\n")
if mode == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if mode == "breeds":
    subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL)

from mcp.server.mcpserver import MCPServer  # noqa: E402
from mcp.server.mcpserver.exceptions import ToolError  # noqa: E402

server = MCPServer("fault", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@server.tool()
def die() -> str:
    """Die in mid-call."""
    os._exit(7)


@server.tool()
async def hang() -> str:
    """Never answer."""
    import asyncio

    await asyncio.sleep(600)
    return "never"


@server.tool()
def fail() -> str:
    """Fail with a reason."""
    raise ToolError("the reason")


@server.tool()
def long() -> str:
    """Return a long text."""
    return "x" * 100_000


server.run()
