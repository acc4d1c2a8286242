"""The calculator as a real MCP server: over stdio, from a client's and from the wire's point of view."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import mcp
import mcp_types
import pytest

import aworld_toolbox
from aworld_toolbox import calculator, stdio

PLUGIN = str(Path(aworld_toolbox.__file__).parents[1])
SERVER = ["-m", "aworld_toolbox.calculator"]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

T = TypeVar("T")


def with_client(work: Callable[[mcp.Client], Awaitable[T]]) -> T:
    parameters = mcp.StdioServerParameters(command=sys.executable, args=SERVER, env={"PYTHONPATH": PLUGIN})

    async def main() -> T:
        async with mcp.Client(parameters, read_timeout_seconds=60) as client:
            return await work(client)

    return asyncio.run(main())


async def ask(client: mcp.Client, expression: object) -> tuple[str, bool]:
    result = await client.call_tool("calculator", {"expression": expression})
    assert isinstance(result, mcp_types.CallToolResult)
    assert result.structured_content is None
    (content,) = result.content
    assert isinstance(content, mcp_types.TextContent)
    return content.text, bool(result.is_error)


def on_the_wire(arguments: list[str], messages: list[dict[str, Any]]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": PLUGIN},
    )


def test_it_offers_one_small_tool() -> None:
    async def work(client: mcp.Client) -> list[mcp_types.Tool]:
        return (await client.list_tools()).tools

    (tool,) = with_client(work)
    assert tool.name == "calculator"
    assert tool.description is not None and len(tool.description) < 250
    assert tool.input_schema["required"] == ["expression"]
    assert tool.input_schema["properties"]["expression"]["type"] == "string"
    assert tool.output_schema is None


def test_answers_errors_and_hostile_calls() -> None:
    async def work(client: mcp.Client) -> None:
        assert await ask(client, "0.1 + 0.2") == ("0.3", False)
        text, failed = await ask(client, "1/0")
        assert failed and text.endswith("division by zero")
        text, failed = await ask(client, "2 +* 3")
        assert failed and "syntax error at character 4" in text
        for expression in ("9**9**9", "(" * 10**6, "1+" * 10**6 + "1", "factorial(10**9)"):
            text, failed = await ask(client, expression)
            assert failed and len(text) < 200
        text, failed = await ask(client, "9" * 5_000 + "+1")
        assert (text, failed) == ("1" + "0" * 5_000, False)
        assert (await ask(client, [1]))[1]
        assert (await ask(client, "π×2 − tau")) == ("0", False)

    with_client(work)


def test_many_concurrent_calls_get_their_own_answers() -> None:
    async def work(client: mcp.Client) -> None:
        answers = await asyncio.gather(*(ask(client, f"{n}*{n}" + "/0" * (n % 7 == 0)) for n in range(300)))
        for n, (text, failed) in enumerate(answers):
            assert failed if n % 7 == 0 else (text, failed) == (str(n * n), False)

    with_client(work)


def test_it_also_serves_in_process() -> None:
    async def main() -> None:
        async with mcp.Client(calculator.server()) as client:
            assert await ask(client, "2**10") == ("1024", False)
            assert (await ask(client, "1/0"))[1]

    asyncio.run(main())


def test_stdout_holds_the_protocol_and_nothing_else() -> None:
    """Prints while the server is built, from Python and from a child, go to stderr; so do a child's reads."""
    noisy = (
        "import os, subprocess, sys\n"
        "from aworld_toolbox import calculator, stdio\n"
        "def build():\n"
        "    print('from python', flush=True)\n"
        "    subprocess.run('cat; echo from a child', shell=True, check=True)\n"
        "    return calculator.server()\n"
        "stdio.serve(build)\n"
    )
    done = on_the_wire(["-c", noisy], [PING, {"jsonrpc": "2.0", "id": 2, "method": "ping"}])
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert "from python" in done.stderr and "from a child" in done.stderr


def test_it_ends_when_stdin_ends_without_a_word() -> None:
    done = on_the_wire(SERVER, [PING])
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert done.stderr == ""


def test_every_request_is_answered_though_stdin_has_ended() -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ]
    for n in range(1, 51):
        call = {"name": "calculator", "arguments": {"expression": f"10**9000 + {n}"}}
        messages.append({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": call})
    replies = {reply["id"]: reply for reply in map(json.loads, on_the_wire(SERVER, messages).stdout.splitlines())}
    assert set(replies) == set(range(51))
    assert replies[7]["result"]["content"] == [{"type": "text", "text": str(10**4000) + "0" * 4999 + "7"}]


def test_stdin_may_be_a_file(tmp_path: Path) -> None:
    messages = tmp_path / "messages.jsonl"
    messages.write_text(json.dumps(PING) + "\n")
    with messages.open() as wire:
        done = subprocess.run(
            [sys.executable, *SERVER],
            stdin=wire,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            env={**os.environ, "PYTHONPATH": PLUGIN},
        )
    assert json.loads(done.stdout)["id"] == 1


def test_a_line_that_is_no_message_is_survived() -> None:
    parameters = [sys.executable, *SERVER]
    done = subprocess.run(
        parameters,
        input=b"not json\n\xff\xfe\n" + json.dumps(PING).encode() + b"\n",
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": PLUGIN},
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"jsonrpc": "2.0", "id": 1, "result": {}} in replies


def test_the_fast_transport_fits_the_installed_sdk() -> None:
    """`stdio.serve` falls back to the SDK's own transport without this attribute: twice the CPU a call."""
    assert hasattr(calculator.server(), "_lowlevel_server")
    assert stdio.LONGEST_MESSAGE > 10**7


@pytest.mark.parametrize("module", ["aworld_toolbox.plugin", "aworld_toolbox.tools", "aworld_toolbox.arithmetic"])
def test_import_is_light(module: str) -> None:
    heavy = ("mcp", "anyio", "starlette", "difflib")
    script = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    path = os.pathsep.join([PLUGIN, *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip() == "[]"
