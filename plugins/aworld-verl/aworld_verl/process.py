"""The training process as the command line sees it: started early, told what to do, listened to, ended for sure."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from aworld_cli.errors import MachineError, RecipeError
from aworld_cli.run import waiting
from aworld_cli.tool import guard

#: What is started; -P: a user's files must not hide modules.
COMMAND = (sys.executable, "-P", "-m", "aworld_verl.driver")
_END_SECONDS = 20.0


class DriverProcess:
    """`python -m aworld_verl.driver` in a process group of its own.

    Its standard input stays open for as long as the run wants it; whatever it prints goes to `log`.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self._process: asyncio.subprocess.Process | None = None
        self._events: asyncio.StreamReader | None = None
        self._transport: asyncio.ReadTransport | None = None
        self._done = False

    async def start(self) -> None:
        """Start it; it loads verl and Ray while other stages run."""
        scratch = ("--scratch", os.environ["TMPDIR"]) if os.environ.get("TMPDIR") else ()
        read_end, write_end = os.pipe()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self.log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-S", "-E", guard.__file__, str(os.getpid())),
                    *COMMAND,
                    *("--events-fd", str(write_end), *scratch),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=(write_end,),
                    start_new_session=True,
                )
        finally:
            os.close(write_end)
        loop = asyncio.get_running_loop()
        self._events = asyncio.StreamReader(limit=2**22)
        reader = self._events
        self._transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb")
        )

    async def train(self, settings: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Send the settings and yield the driver's events until `done`.

        Raises:
            RecipeError: it reports an error that only another recipe mends.
            MachineError: it reports another error, or dies.
        """
        assert self._process is not None and self._process.stdin is not None and self._events is not None
        with contextlib.suppress(ConnectionError):  # it died: the end of its events says so below
            self._process.stdin.write(json.dumps(settings).encode() + b"\n")
            await self._process.stdin.drain()
        while line := await self._events.readline():
            event: dict[str, Any] = json.loads(line)
            if event["event"] == "ready":
                waiting.forward_to(self._process.pid)
            if event["event"] == "error":
                text = f"verl stopped: {event['message']}; see {self.log}"
                raise RecipeError(text) if event.get("mend") == "recipe" else MachineError(text)
            self._done = event["event"] == "done"
            yield event
            if self._done:
                return
        code = await self._process.wait()
        how = f"exit code {code}" if code >= 0 else f"signal {-code}; the machine may be out of memory"
        raise MachineError(f"the verl process died ({how}); see {self.log}")

    async def close(self) -> None:
        """End it and all that it started.

        A driver that is done is asked to go, by the end of its input. Any other is killed, since it may be deep in an
        import; its guardian process then takes down what it started.
        """
        process, self._process = self._process, None
        if self._transport is not None:
            self._transport.close()
        if process is None:
            return
        waiting.forward_no_more(process.pid)
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.close()
        try:
            async with asyncio.timeout(_END_SECONDS if self._done else 0):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
