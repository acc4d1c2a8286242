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

from mcp import MCPError  # noqa: E402
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


@server.tool()
async def nap() -> str:
    """Take a moment."""
    import asyncio

    await asyncio.sleep(0.3)
    return "rested"


@server.tool(structured_output=False)
def nothing() -> str:
    """Return the empty text."""
    return ""


@server.tool()
def market() -> str:
    """Fail by the protocol, with a word that means something else."""
    raise MCPError(-32602, "the market is closed")


@server.tool()
def same_code() -> str:
    """Fail with the code that a lost connection has."""
    raise MCPError(-32000, "the shop is closed")


if mode == "empty":
    for name in ("add", "die", "hang", "fail", "long", "nap", "nothing", "market", "same_code"):
        server.remove_tool(name)
server.run()
