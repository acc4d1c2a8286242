"""A fake model server for tests: real HTTP on loopback, answers from a script, faults on request.

It speaks the OpenAI chat API (`/v1/chat/completions`, `/v1/models`) and SGLang's own (`/generate`, `/health`,
`/model_info`, `/abort_request`). It runs in a thread of its own, so that a plain test, an asyncio test and a child
process use it alike:

    with FakeModelServer(chat=lambda messages, seed: "42") as server:
        ...  # server.base_url, server.counters
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from aworld_cli.model.base import Generation
from aworld_cli.testing.model_faults import Fault, Latency
from aworld_cli.testing.model_native import NativeRoutes, pause
from aworld_cli.testing.model_replies import chat_completion, generated
from aworld_cli.trajectory.message import Message

#: Answers a chat from its messages (OpenAI form) and seed: with a text, a message, or, for servers of odd habits, the
#: whole body of the response.
ChatScript = Callable[[list[dict[str, Any]], int], str | Message | dict[str, Any]]

#: Continues token ids, given the seed.
TokenScript = Callable[[list[int], int], Generation]

__all__ = ["ChatScript", "Counters", "FakeModelServer", "Fault", "Latency", "Received", "TokenScript"]


@dataclass(slots=True)
class Counters:
    """What the server saw; requests for `/v1/models` count as probes only.

    Args:
        aborted: requests whose client went away before the answer.
        connections: distinct connections that carried a request.
    """

    requests: int = 0
    probes: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    aborted: int = 0
    connections: int = 0


@dataclass(frozen=True, slots=True)
class Received:
    """One request, as it came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class FakeModelServer:
    """A model server whose answers and faults a test decides.

    Args:
        chat: answers `/v1/chat/completions`.
        tokens: answers `/generate`.
        models: the names that `/v1/models` lists; None makes it answer 404, as some endpoints do.
        api_key: the bearer token that is demanded, if any.
        latency: seconds of each answer, or how they are drawn.
        keep: how many of the last requests `received` holds.
    """

    def __init__(
        self,
        chat: ChatScript | None = None,
        tokens: TokenScript | None = None,
        *,
        models: Iterable[str] | None = ("fake",),
        api_key: str | None = None,
        latency: float | Latency = 0.0,
        keep: int = 1_000,
    ) -> None:
        self.counters = Counters()
        self.received: deque[Received] = deque(maxlen=keep)
        self._chat = chat or (lambda messages, seed: "ok")
        self._tokens = tokens or (lambda ids, seed: Generation(ids[-1:] or [0], [-0.5], "stop"))
        self._models = None if models is None else list(models)
        self._native = NativeRoutes(next(iter(self._models or ()), "fake"))
        self._api_key = api_key
        self._latency = latency if isinstance(latency, Latency) else Latency(latency)
        self._faults: deque[Fault] = deque()
        self._always: Fault | None = None
        self._probe_fault: Fault | None = None
        self._peers: set[object] = set()
        self._port = 0

    # -- what a test does -------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """Where the server is: `http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """The OpenAI API's base URL."""
        return f"{self.url}/v1"

    def inject(self, fault: Fault, *, times: int | None = 1, models: bool = False) -> None:
        """Let the next `times` requests meet a fault, or all from now on (None).

        Args:
            models: let it befall `/v1/models` instead, for as long as the server runs.
        """
        if models:
            self._probe_fault = fault
        elif times is None:
            self._always = fault
        else:
            self._faults.extend([fault] * times)

    def heal(self) -> None:
        """End every fault."""
        self._faults.clear()
        self._always = self._probe_fault = None

    @property
    def aborts(self) -> list[str]:
        """The ids of requests that `/abort_request` was asked to end, whether they were there or not."""
        return self._native.aborts

    def refuse(self) -> None:
        """Stop listening and close all connections, until `listen`."""
        self._wait(self._refuse())

    def listen(self) -> None:
        """Listen again after `refuse`, on the same port."""
        self._wait(self._listen())

    def __enter__(self) -> FakeModelServer:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(started)), daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError("the fake model server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    # -- the server -------------------------------------------------------------------------------------------

    async def _serve(self, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        app = web.Application(client_max_size=2**28)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_post("/v1/chat/completions", self._completions)
        app.router.add_post("/generate", self._generate)
        self._native.add_to(app)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await self._listen()
        started.set()
        await self._stop.wait()
        await self._refuse()
        await self._runner.cleanup()

    async def _listen(self) -> None:
        self._site = web.TCPSite(self._runner, "127.0.0.1", self._port, backlog=4096)
        await self._site.start()
        self._port = self._runner.addresses[-1][1]

    async def _refuse(self) -> None:
        if self._site in self._runner.sites:
            await self._site.stop()
        for connection in list(self._runner.server.connections):
            connection.force_close()

    def _wait(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _list_models(self, request: web.Request) -> web.StreamResponse:
        self.counters.probes += 1
        response = self._unauthorized(request)
        if response is None and self._probe_fault is not None:
            response = await self._suffer(self._probe_fault, request)
        if response is not None:
            return response
        if self._models is None:
            return web.json_response({"detail": "Not Found"}, status=404)
        return web.json_response({"object": "list", "data": [{"id": name} for name in self._models]})

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        def answer(body: dict[str, Any], seed: int) -> dict[str, Any]:
            given = self._chat(body["messages"], seed)
            return given if isinstance(given, dict) else chat_completion(given, str(body.get("model")))

        return await self._answer(request, answer, lambda body: body.get("seed"))

    async def _generate(self, request: web.Request) -> web.StreamResponse:
        def answer(body: dict[str, Any], seed: int) -> dict[str, Any]:
            made = self._tokens(body["input_ids"], seed)
            return generated(made, len(body["input_ids"]), logprobs=bool(body.get("return_logprob")))

        return await self._answer(request, answer, lambda body: body.get("sampling_params", {}).get("sampling_seed"))

    async def _answer(
        self,
        request: web.Request,
        answer: Callable[[dict[str, Any], int], dict[str, Any]],
        seed_of: Callable[[dict[str, Any]], int | None],
    ) -> web.StreamResponse:
        counters = self.counters
        counters.requests += 1
        counters.in_flight += 1
        counters.peak_in_flight = max(counters.peak_in_flight, counters.in_flight)
        try:
            self._peers.add(request.transport.get_extra_info("peername"))
            counters.connections = len(self._peers)
            body = json.loads(await request.read())
            self.received.append(Received(request.path, dict(request.headers), body))
            seed = seed_of(body) or 0
            response = self._unauthorized(request)
            fault = self._faults.popleft() if self._faults else self._always
            with self._native.waiting(body.get("rid")) as aborted:
                if response is None and fault is not None:
                    response = await self._suffer(fault, request, aborted)
                if response is not None:
                    return response
                await pause(self._latency.seconds(seed), aborted)
                if aborted.is_set():
                    return web.json_response(generated(Generation([], [], "abort"), 0, logprobs=True))
            return web.json_response(answer(body, seed))
        except (ConnectionResetError, asyncio.CancelledError):
            counters.aborted += 1
            raise
        finally:
            counters.in_flight -= 1

    def _unauthorized(self, request: web.Request) -> web.Response | None:
        if self._api_key is None or request.headers.get("Authorization") == f"Bearer {self._api_key}":
            return None
        return web.json_response({"error": {"message": "Incorrect API key provided"}}, status=401)

    async def _suffer(
        self, fault: Fault, request: web.Request, aborted: asyncio.Event | None = None
    ) -> web.StreamResponse | None:
        """Return the response that a fault makes of a request; None when the request only took longer."""
        if fault.kind in ("slow", "hang"):
            await pause(fault.seconds if fault.kind == "slow" else 3_600, aborted or asyncio.Event())
            return None
        if fault.kind == "malformed":
            return web.Response(text='{"choices": [', content_type="application/json")
        if fault.kind == "status":
            text = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
            return web.Response(text=text, status=fault.status, headers=fault.headers)
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        if fault.kind == "cut":
            await response.prepare(request)
            await response.write(b'{"choices": [')
        request.transport.close()
        return response
