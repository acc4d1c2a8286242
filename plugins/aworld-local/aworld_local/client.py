"""The worker as the command line sees it: one a run, started when it is first needed, started again if it dies."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aworld_cli.errors import ContextOverflow, EpisodeError, MachineError
from aworld_cli.resources import ProcessPlan, Resources
from aworld_cli.tool import guard
from aworld_local.wire import HEADER, pack, unpack

_END_SECONDS = 5.0


#: What is started; -P: a user's files must not hide modules.
COMMAND = (sys.executable, "-P", "-m", "aworld_local.worker")


def worker_resources(threads: int) -> Resources:
    """Return what a run's worker takes: one process, whoever of the run uses it."""
    return Resources(processes=(ProcessPlan("local worker", COMMAND, threads=threads, shared=True),))


class WorkerDied(Exception):
    """The worker process ended while a request was on it."""


class WorkerFailed(Exception):
    """The worker could not do what was asked; the text says why, `kind` is the exception's name where it matters."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class WorkerClient:
    """Talks to the worker process of a run. Use `WorkerClient.shared` to get it.

    Args:
        log: the file that takes what it prints.
    """

    def __init__(self, log: Path) -> None:
        self.log = log
        self.opened: tuple[str, int, int] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._progress: dict[int, Callable[[Any], None]] = {}
        self._numbers = itertools.count()
        self._outgoing: list[dict[str, Any]] = []
        self._starting = asyncio.Lock()
        self._opening = asyncio.Lock()

    @staticmethod
    def shared(shared: dict[str, Any], run_dir: Path) -> WorkerClient:
        """Return the run's client; it is closed with the run."""
        client = shared.get("local-worker")
        if client is None:
            client = shared["local-worker"] = WorkerClient(run_dir / "logs" / "local-worker.log")
        assert isinstance(client, WorkerClient)
        return client

    async def ask(self, do: str, *, progress: Callable[[Any], None] | None = None, **arguments: Any) -> Any:
        """Have the worker do something.

        Raises:
            WorkerDied, WorkerFailed.
        """
        await self._start()
        number = next(self._numbers)
        if progress is not None:
            self._progress[number] = progress
        try:
            return await self._send(number, {"id": number, "do": do, "arguments": arguments})
        finally:
            self._progress.pop(number, None)

    async def open(self, path: Path, threads: int, max_batch: int) -> None:
        """Load a checkpoint into the engine, unless it is there already. Raises MachineError."""
        async with self._opening:
            if self.holds(path, threads, max_batch):
                return
            try:
                await self.ask("open", path=str(path), threads=threads, max_batch=max_batch)
            except (WorkerDied, WorkerFailed) as error:
                raise MachineError(f"{path}: the model cannot be loaded: {error}; see {self.log}") from error
            self.opened = (str(path), threads, max_batch)

    def holds(self, path: Path, threads: int, max_batch: int) -> bool:
        """Whether the engine runs and has this checkpoint."""
        return self.alive and self.opened == (str(path), threads, max_batch)

    async def generate(self, request: dict[str, Any]) -> tuple[list[int], list[float], str]:
        """Sample a continuation; requests of one turn of the event loop travel together. Raises EpisodeError."""
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        if not self._outgoing:
            asyncio.get_running_loop().call_soon(self._flush)
        self._outgoing.append({"id": number, **request})
        try:
            result: tuple[list[int], list[float], str] = await future
            return result
        except WorkerDied as error:
            raise EpisodeError("model", f"the local model's process died; see {self.log}") from error
        except WorkerFailed as error:
            if error.kind == "PromptTooLong":
                raise ContextOverflow(str(error)) from error
            raise EpisodeError("model", str(error), retryable=False) from error
        finally:
            self._waiting.pop(number, None)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    async def close(self) -> None:
        """End the process; returns when it is gone."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(ConnectionError):
            process.stdin.close()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if self._reader is not None:
            await self._reader

    async def _start(self) -> None:
        async with self._starting:
            if self.alive:
                return
            self.opened = None
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-S", "-E", guard.__file__, str(os.getpid())),
                    *COMMAND,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            self._reader = asyncio.create_task(self._read(self._process))

    async def _send(self, number: int, message: dict[str, Any]) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._write(message)
            return await future
        finally:
            self._waiting.pop(number, None)

    def _flush(self) -> None:
        requests, self._outgoing = self._outgoing, []
        if not self.alive:
            self._fail([request["id"] for request in requests])
            return
        self._write({"do": "generate", "requests": requests})

    def _write(self, message: dict[str, Any]) -> None:
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(pack(message))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while True:
                header = await process.stdout.readexactly(HEADER.size)
                for answer in unpack(await process.stdout.readexactly(HEADER.unpack(header)[0])):
                    self._settle(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:  # the event loop ends without `close`: nobody else will end the process
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            await process.wait()
            self.opened = None
            self._fail(list(self._waiting))

    def _settle(self, answer: dict[str, Any]) -> None:
        if "progress" in answer:
            listener = self._progress.get(answer["id"])
            if listener is not None:
                listener(answer["progress"])
            return
        future = self._waiting.get(answer["id"])
        if future is None or future.done():
            return
        if "error" in answer:
            future.set_exception(WorkerFailed(answer["error"], answer.get("kind", "")))
        else:
            future.set_result(answer["result"])

    def _fail(self, numbers: list[int]) -> None:
        for number in numbers:
            future = self._waiting.get(number)
            if future is not None and not future.done():
                future.set_exception(WorkerDied("the local worker died"))
