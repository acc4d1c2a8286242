"""The start: an endpoint that is not there, or takes no key of ours, ends the run at once with the remedy."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from aworld_cli.errors import MachineError
from aworld_cli.model.base import ChatRequest
from aworld_cli.testing.model_server import FakeModelServer, Fault
from aworld_openai.model import OpenAIModel

Make = Callable[..., OpenAIModel]
Ask = Callable[..., ChatRequest]
Use = Callable[..., Any]
Until = Callable[[Callable[[], Any]], Awaitable[None]]


def refuse_start(model: OpenAIModel) -> str:
    started = time.monotonic()
    with pytest.raises(MachineError) as caught:
        asyncio.run(model.start())
    assert time.monotonic() - started < 5
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("models", [["fake"], ["other"], [], None])
def test_the_start_asks_once_and_takes_what_answers(make: Make, use: Use, models: list[str] | None) -> None:
    async def nothing(model: OpenAIModel) -> None:
        pass

    with FakeModelServer(models=models) as server:
        use(make(server), nothing)
        assert (server.counters.probes, server.counters.requests) == (1, 0)


def test_a_start_against_nothing_says_so_at_once(make: Make) -> None:
    with FakeModelServer() as server:
        pass
    text = refuse_start(make(server, retry_pause=10))
    assert text.startswith(f"GET {server.base_url}/models: the connection was refused; check that the server runs")


def test_a_start_with_a_wrong_key_says_what_to_do(make: Make, key: str) -> None:
    with FakeModelServer(api_key="another") as server:
        text = refuse_start(make(server))
        assert "refused the key" in text
        assert "environment variable" in text
        assert "add api_key: ${env:NAME}" in refuse_start(make(server, api_key=None))


def test_a_key_that_may_not_list_models_is_fine(make: Make, use: Use, ask: Ask) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("status", 403, body={"error": "Missing scopes: api.model.read"}), models=True)
        assert use(make(server), lambda model: model.complete(ask())).message.content == "ok"


def test_a_start_against_a_server_that_hangs_ends(make: Make) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("hang"), models=True)
        assert "no answer within 0.2 s" in refuse_start(make(server, request_timeout=0.2))


def test_a_start_waits_for_a_server_that_is_loading(make: Make, until: Until) -> None:
    async def main() -> None:
        model = make(server, retry_attempts=100, retry_pause=0.02)
        starting = asyncio.create_task(model.start())
        await until(lambda: server.counters.probes >= 2)
        server.heal()
        await starting
        await model.close()

    with FakeModelServer() as server:
        server.inject(Fault("status", 503), models=True)
        assert "HTTP 503; tried 3 times" in refuse_start(make(server, retry_attempts=3))
        assert server.counters.probes == 3
        server.counters.probes = 0
        asyncio.run(main())


def test_a_start_that_is_redirected_asks_for_the_final_address(make: Make) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("status", 301, headers={"Location": "https://login.example"}), models=True)
        text = refuse_start(make(server))
    assert "to https://login.example" in text
    assert "final address" in text


def test_a_host_that_does_not_exist(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*args: object, **options: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", none)
    assert "there is no host called 'model.invalid'" in refuse_start(make("http://model.invalid/v1"))


def test_https_to_a_server_that_speaks_http(make: Make) -> None:
    with FakeModelServer() as server:
        text = refuse_start(make(server.base_url.replace("http:", "https:")))
    assert "no TLS connection" in text
