"""Tool servers that misbehave: every call ends in a result or a typed error, and no process is left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from aworld_cli.errors import EpisodeError, MachineError, RecipeError
from aworld_cli.tool.base import StdioServer
from aworld_cli.tool.server import MAX_RESULT_CHARACTERS, ToolServer
from aworld_cli.tool.toolset import ToolSet
from aworld_cli.trajectory.message import ToolCall

pytestmark = pytest.mark.usefixtures("no_strays")
FAULTY = str(Path(__file__).with_name("fault_server.py"))


def spec(mode: str = "good", name: str = "fault", start_timeout: float = 30, call_timeout: float = 30) -> StdioServer:
    return StdioServer(name, sys.executable, (FAULTY, mode), start_timeout=start_timeout, call_timeout=call_timeout)


def with_server(server: StdioServer, tmp_path: Path, body: Callable[[ToolServer], Awaitable[None]]) -> None:
    async def main() -> None:
        running = ToolServer(server, tmp_path / "log")
        await running.start()
        try:
            await body(running)
        finally:
            await running.close()

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["good", "prints", "deaf", "breeds"])
def test_calls(mode: str, tmp_path: Path) -> None:
    async def body(server: ToolServer) -> None:
        assert {tool.name for tool in server.tools} == {
            "add",
            "die",
            "hang",
            "fail",
            "long",
            "nap",
            "nothing",
            "market",
            "same_code",
        }
        results = await asyncio.gather(*(server.call("add", {"a": n, "b": 1}) for n in range(20)))
        assert [result.text for result in results] == [str(n + 1) for n in range(20)]
        failed = await server.call("fail", {})
        assert failed.is_error and "the reason" in failed.text
        wrong = await server.call("add", {"a": "x"})
        assert wrong.is_error

    with_server(spec(mode), tmp_path, body)
    if mode == "breeds":  # a grandchild outlives a clean close of its server: ending those is a sandbox's work
        for child in psutil.process_iter(["cmdline", "ppid"]):
            if child.info["cmdline"] == ["sleep", "600"]:
                child.kill()


def test_death_in_mid_call_is_an_observation_and_the_next_call_works(tmp_path: Path) -> None:
    async def body(server: ToolServer) -> None:
        dead, bystander = await asyncio.gather(server.call("die", {}), server.call("hang", {}))
        assert dead.is_error and "died" in dead.text
        assert bystander.is_error
        assert (await server.call("add", {"a": 1, "b": 2})).text == "3"
        assert server.restarts == 1

    with_server(spec(), tmp_path, body)


def test_a_server_that_keeps_dying_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aworld_cli.tool.server.RESTART_PAUSES", (0.0, 0.0))

    async def body(server: ToolServer) -> None:
        for _ in range(3):
            assert (await server.call("die", {})).is_error
        with pytest.raises(EpisodeError, match="died 3 times"):
            await server.call("add", {"a": 1, "b": 2})

    with_server(spec(), tmp_path, body)


def test_an_error_that_speaks_of_closing_is_not_a_death(tmp_path: Path) -> None:
    async def body(server: ToolServer) -> None:
        for tool in ("market", "same_code"):
            refused, bystander = await asyncio.gather(server.call(tool, {}), server.call("nap", {}))
            assert refused.is_error and "closed" in refused.text and "died" not in refused.text
            assert bystander.text == "rested"
        assert server.restarts == 0

    with_server(spec(), tmp_path, body)


def test_no_call_after_close_starts_it_again(tmp_path: Path) -> None:
    async def main() -> None:
        server = ToolServer(spec(), tmp_path / "log")
        await server.start()
        await server.close()
        with pytest.raises(EpisodeError, match="is closed"):
            await server.call("add", {"a": 1, "b": 2})

    asyncio.run(main())


def test_an_empty_result_is_empty(tmp_path: Path) -> None:
    async def body(server: ToolServer) -> None:
        assert (await server.call("nothing", {})).text == ""

    with_server(spec(), tmp_path, body)


def test_call_timeout(tmp_path: Path) -> None:
    async def body(server: ToolServer) -> None:
        result = await server.call("hang", {})
        assert result.is_error and "no answer within 0.3 s" in result.text
        assert (await server.call("add", {"a": 1, "b": 2})).text == "3"

    with_server(spec(call_timeout=0.3), tmp_path, body)


def test_long_result_is_cut_in_the_middle(tmp_path: Path) -> None:
    async def body(server: ToolServer) -> None:
        text = (await server.call("long", {})).text
        assert len(text) < MAX_RESULT_CHARACTERS + 100 and "80,000 characters left out" in text

    with_server(spec(), tmp_path, body)


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        (spec("exits"), "cannot find my configuration"),
        (spec("silent", start_timeout=0.5), "did not answer within 0.5 s"),
        (spec("empty"), "offers no tools"),
        (StdioServer("fault", "no-such-program-anywhere"), "'no-such-program-anywhere' is not found"),
    ],
)
def test_no_start(server: StdioServer, reason: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with ToolSet([server], tmp_path):
            pass

    started = time.monotonic()
    with pytest.raises(MachineError, match=reason):
        asyncio.run(main())
    if "silent" in server.args:  # not the seconds that a clean close may take
        assert time.monotonic() - started < 5


def test_toolset_answers_senseless_calls_and_refuses_clashes(tmp_path: Path) -> None:
    async def main() -> None:
        async with ToolSet([spec()], tmp_path) as tools:
            unknown = await tools.call(ToolCall("1", "subtract", {}))
            assert unknown.is_error and "there is no tool called 'subtract'" in unknown.text
            assert (await tools.call(ToolCall("2", "add", None, "{oops"))).is_error
            assert (await tools.call(ToolCall("3", "add", {"a": 1, "b": 1}))).text == "2"
        with pytest.raises(RecipeError, match="both offer a tool called"):
            async with ToolSet([spec(), spec(name="again")], tmp_path):
                pass

    asyncio.run(main())


def test_server_dies_with_a_killed_parent(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import asyncio, sys
        from pathlib import Path
        from aworld_cli.tool.base import StdioServer
        from aworld_cli.tool.server import ToolServer
        async def main():
            server = ToolServer(StdioServer("s", sys.executable, ({FAULTY!r}, "deaf")), Path({str(tmp_path)!r}) / "log")
            await server.start()
            print("ready", flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "ready\n"
        children = psutil.Process(parent.pid).children(recursive=True)
        assert children
        os.kill(parent.pid, 9)
    _, alive = psutil.wait_procs(children, timeout=5)
    assert not [child for child in alive if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]
