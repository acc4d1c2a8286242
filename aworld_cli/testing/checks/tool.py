"""Tools: the MCP server starts, lists sound tools, survives wrong calls, and is gone when it is closed."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aworld_cli.errors import MachineError
from aworld_cli.testing.check import Check
from aworld_cli.testing.subject import Subject
from aworld_cli.testing.surroundings import MARK
from aworld_cli.tool.base import StdioServer, ToolResult, ToolSpec
from aworld_cli.tool.server import ToolServer

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CALL_SECONDS = 30.0  # that a call with wrong arguments may take
_STOP_SECONDS = 4.0  # a server has two after its stdin ends, then two after SIGTERM
_BESIDE = 8  # calls at once


def checks(subject: Subject) -> list[Check]:
    """Return the checks of a tool."""
    return [
        subject.check("describes a server", _describes),
        subject.check("starts, lists its tools and stops", _lists, seconds=120),
        subject.check("answers wrong calls with an error", _wrong_calls, seconds=300),
        subject.check("leaves nothing when cancelled", _cancelled, seconds=120),
    ]


def _spec(subject: Subject) -> StdioServer:
    """Return the server's description, with what lets the kit find its processes and its files."""
    __tracebackhide__ = True
    spec: StdioServer = subject.make()
    subject.require(
        isinstance(spec, StdioServer), f"its factory made a {type(spec).__name__}, not an aworld_cli.tool.StdioServer"
    )
    if (
        shutil.which(spec.command, path=spec.env.get("PATH")) is None
        and not Path(spec.cwd or "", spec.command).exists()
    ):
        subject.skip(f"the program {spec.command!r} is not installed here")
    ours = {MARK: os.environ.get(MARK, ""), "TMPDIR": tempfile.gettempdir()}
    seconds = min(spec.call_timeout, _CALL_SECONDS)
    return dataclasses.replace(spec, env={**ours, **spec.env}, call_timeout=seconds)


def _describes(subject: Subject) -> None:
    spec = _spec(subject)
    subject.require(re.fullmatch(r"[A-Za-z0-9_.-]+", spec.name), f"the server's name {spec.name!r} names its log too")
    for field in ("start_timeout", "call_timeout"):
        subject.require(
            getattr(spec, field) > 0, f"{field} is {getattr(spec, field)}, not a positive number of seconds"
        )
    texts = [*spec.args, *spec.env, *spec.env.values()]
    subject.require(all(isinstance(text, str) for text in texts), "what is no text stands in the args or the env")


class _Log(logging.Handler):
    """Collects what the MCP SDK has to say of the server's output."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.lines.append(" ".join(f"{record.getMessage()} {error or ''}".split())[:300])


@contextlib.contextmanager
def _listening() -> Any:
    logger, handler = logging.getLogger("mcp"), _Log()
    before, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


@contextlib.asynccontextmanager
async def _started(subject: Subject, spec: StdioServer, logs: Path) -> AsyncIterator[ToolServer]:
    """Start the server, and close it; what breaks the protocol, or its end taking long, fails the check."""
    __tracebackhide__ = True
    server = ToolServer(spec, logs / "server.log")
    with _listening() as log:
        try:
            await server.start()
            yield server
        except MachineError as error:
            subject.fail(f"{error}: {_tail(server.log)}", error)
        finally:
            began = time.monotonic()
            await server.close()
            seconds = time.monotonic() - began
    subject.require(
        not log.lines,
        f"its server breaks the protocol ({'; '.join(log.lines[:3])}); stdout carries MCP messages only, so print to "
        "stderr",
    )
    subject.require(
        seconds < _STOP_SECONDS,
        f"its server took {seconds:.1f} s to stop and had to be killed; end when stdin ends, or on SIGTERM",
    )


def _lists(subject: Subject) -> None:
    spec = _spec(subject)

    async def main(logs: Path) -> None:
        async with _started(subject, spec, logs) as server:
            tools = server.tools
        for tool in tools:
            _sound(subject, tool)
        names = [tool.name for tool in tools]
        subject.require(len(set(names)) == len(names), f"two of its tools have one name: {names}")

    _run(main)


def _sound(subject: Subject, tool: ToolSpec) -> None:
    subject.require(
        _NAME.fullmatch(tool.name), f"the tool name {tool.name!r} is not 1 to 64 letters, digits, `_` and `-`"
    )
    subject.require(tool.description.strip(), f"the tool {tool.name!r} has no description: models choose by it")
    schema = tool.input_schema
    subject.require(
        schema.get("type") == "object" and isinstance(schema.get("properties", {}), dict),
        f"the input schema of the tool {tool.name!r} is not that of an object: {schema}",
    )
    unknown = set(schema.get("required", ())) - set(schema.get("properties", {}))
    subject.require(not unknown, f"the tool {tool.name!r} requires {sorted(unknown)}, which its properties do not hold")


def _wrong_calls(subject: Subject) -> None:
    spec = _spec(subject)

    async def main(logs: Path) -> None:
        async with _started(subject, spec, logs) as server:
            calls: list[tuple[str, dict[str, Any]]] = [("no_such_tool", {})]
            for tool in server.tools:
                required = tool.input_schema.get("required") or ()
                if required:  # one that needs nothing would really do something
                    calls += [(tool.name, {}), (tool.name, {"no_such_argument": 1})]
            for name, arguments in calls:
                _refused(subject, server, name, arguments, await _call(subject, server, name, arguments))
            beside = [_call(subject, server, *calls[number % len(calls)]) for number in range(_BESIDE)]
            for number, result in enumerate(await asyncio.gather(*beside)):
                _refused(subject, server, *calls[number % len(calls)], result)

    _run(main)


async def _call(subject: Subject, server: ToolServer, name: str, arguments: dict[str, Any]) -> ToolResult:
    __tracebackhide__ = True
    try:
        return await server.call(name, arguments)
    except Exception as error:
        subject.fail(
            f"its server cannot be used any more after wrong calls, the last {name}({arguments}): {error}", error
        )


def _refused(subject: Subject, server: ToolServer, name: str, arguments: dict[str, Any], result: ToolResult) -> None:
    __tracebackhide__ = True
    said = f"{name}({arguments})"
    died = server.restarts or "died during the call" in result.text
    subject.require(not died, f"its server died of the call {said}: {_tail(server.log)}")
    subject.require(
        "gave no answer within" not in result.text, f"the call {said} was not answered within {_CALL_SECONDS:g} s"
    )
    subject.require(
        result.is_error,
        f"the call {said} lacks what the tool's schema requires, and gave {result.text[:200]!r} without is_error; a "
        "model learns from errors that say what is wrong",
    )


def _cancelled(subject: Subject) -> None:
    """Ctrl-C may come while a server starts, or while a call is under way."""
    spec = _spec(subject)

    async def main(logs: Path) -> None:
        server = ToolServer(spec, logs / "server.log")
        starting = asyncio.create_task(server.start())
        await asyncio.sleep(0.2)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await server.close()
        async with _started(subject, spec, logs) as server:
            calling = asyncio.create_task(server.call("no_such_tool", {}))
            await asyncio.sleep(0)
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
            after = await _call(subject, server, "no_such_tool", {})
            _refused(subject, server, "no_such_tool", {}, after)

    _run(main)


def _run(main: Any) -> None:
    __tracebackhide__ = True
    with tempfile.TemporaryDirectory() as logs:
        asyncio.run(main(Path(logs)))


def _tail(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        return "it said nothing"
    return " / ".join(lines[-3:])[-500:] or "it said nothing"
