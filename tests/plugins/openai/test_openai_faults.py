"""Everything that can go wrong between us and an endpoint: who tries again, what is said, and what is never said."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from aworld_cli.errors import EpisodeError
from aworld_cli.model.base import ChatRequest
from aworld_cli.testing.model_server import FakeModelServer, Fault
from aworld_openai.failures import explain, from_exception, from_status
from aworld_openai.model import OpenAIModel
from aworld_openai.retry import Retry

Make = Callable[..., OpenAIModel]
Ask = Callable[..., ChatRequest]
Use = Callable[..., Any]
Until = Callable[[Callable[[], Any]], Awaitable[None]]
HTML = "<html><head><title>x</title><style>p {}</style></head><body>\n<h1>502 Bad\nGateway</h1>" + "<p>nginx</p>" * 500


def fail(make: Make, ask: Ask, use: Use, server: FakeModelServer, **options: Any) -> EpisodeError:
    with pytest.raises(EpisodeError) as caught:
        use(make(server, **options), lambda model: model.complete(ask()))
    assert caught.value.kind == "model"
    assert f"POST {server.base_url}/chat/completions: " in str(caught.value)
    assert "\n" not in str(caught.value)
    return caught.value


# -- requests -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", status=429),
        Fault("status", status=500),
        Fault("status", status=503, body=HTML),
        Fault("drop"),
        Fault("cut"),
    ],
)
def test_a_passing_fault_is_tried_again(make: Make, ask: Ask, use: Use, fault: Fault) -> None:
    with FakeModelServer() as server:
        server.inject(fault, times=2)
        reply = use(make(server), lambda model: model.complete(ask()))
        assert reply.message.content == "ok"
        assert server.counters.requests == 3


@pytest.mark.parametrize("fault", [Fault("status", status=503, body="busy"), Fault("drop")])
def test_a_lasting_fault_ends_after_the_attempts(make: Make, ask: Ask, use: Use, fault: Fault) -> None:
    with FakeModelServer() as server:
        server.inject(fault, times=None)
        error = fail(make, ask, use, server, retry_attempts=4)
        assert server.counters.requests == 4
    assert (error.retryable, error.fatal) == (True, False)
    assert "tried 4 times" in str(error)


def test_the_budget_ends_the_tries_too(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("status", status=500), times=None)
        fail(make, ask, use, server, retry_attempts=100, retry_budget=0.2, retry_pause=0.1)
        assert 2 <= server.counters.requests <= 4


@pytest.mark.parametrize(
    ("status", "fatal", "said"),
    [
        (400, False, "extra_body"),
        (413, False, "extra_body"),
        (422, False, "extra_body"),
        (401, True, "refused the key"),
        (402, True, "no credit"),
        (403, True, "refused the key"),
        (404, True, "check base_url"),
        (307, True, "final address"),
    ],
)
def test_a_refusal_is_not_tried_again(make: Make, ask: Ask, use: Use, status: int, fatal: bool, said: str) -> None:
    headers = {"Location": "/v2"} if status == 307 else {}
    with FakeModelServer() as server:
        server.inject(Fault("status", status, body={"error": {"message": "because"}}, headers=headers), times=None)
        error = fail(make, ask, use, server)
        assert server.counters.requests == 1
    assert (error.retryable, error.fatal) == (False, fatal)
    assert f"HTTP {status}" in str(error)
    assert said in str(error)
    assert ("to /v2" if status == 307 else "because") in str(error)


def test_an_empty_account_is_final_though_it_says_429(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("status", 429, body={"error": {"message": "x", "code": "insufficient_quota"}}), times=None)
        error = fail(make, ask, use, server)
        assert server.counters.requests == 1
    assert error.fatal
    assert "no credit" in str(error)


def test_an_unknown_model_names_the_nearest_known(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer(models=["qwen3-8b", "qwen3-32b"]) as server:
        server.inject(Fault("status", 404), times=None)
        error = fail(make, ask, use, server, model="qwen-32b")
    assert "did you mean 'qwen3-32b'?" in str(error)


def test_an_error_inside_a_200_counts_as_its_code(make: Make, ask: Ask, use: Use) -> None:
    errors: list[dict[str, Any]] = [{"error": {"code": 429, "message": "busy"}}, {"error": {"message": "odd"}}]
    with FakeModelServer(lambda messages, seed: errors.pop() if errors else "ok") as server:
        reply = use(make(server), lambda model: model.complete(ask()))
        assert reply.message.content == "ok"
        assert server.counters.requests == 3


def test_a_reply_that_the_server_aborted_is_an_error(make: Make, ask: Ask, use: Use) -> None:
    body = {"choices": [{"message": {"content": "half"}, "finish_reason": "abort"}]}
    with FakeModelServer(lambda messages, seed: body) as server:
        assert "broke the reply off" in str(fail(make, ask, use, server))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault("malformed"), "not JSON"),
        (Fault("status", 200, body=HTML), "not JSON (502 Bad Gateway nginx"),
        (Fault("status", 200, body={"hello": 1}), "no chat completion"),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_one_line(
    make: Make, ask: Ask, use: Use, fault: Fault, said: str
) -> None:
    with FakeModelServer() as server:
        server.inject(fault)
        error = fail(make, ask, use, server)
    assert said in str(error)
    assert len(str(error)) < 400
    assert error.retryable


def test_a_request_that_takes_too_long_is_given_up_and_not_sent_twice(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("hang"), times=None)
        error = fail(make, ask, use, server, request_timeout=0.2)
        deadline = time.monotonic() + 5
        while server.counters.in_flight and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (server.counters.requests, server.counters.aborted) == (1, 1)
    assert (error.retryable, error.fatal) == (True, False)
    assert "no answer within 0.2 s" in str(error)


def test_a_slow_answer_within_the_timeout_is_fine(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("slow", seconds=0.1))
        assert use(make(server), lambda model: model.complete(ask())).message.content == "ok"


def test_a_server_that_restarts_is_found_again(
    make: Make, ask: Ask, use: Use, until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(model: OpenAIModel) -> Any:
        await model.complete(ask())
        await asyncio.to_thread(server.refuse)
        task = asyncio.create_task(model.complete(ask()))
        await until(lambda: caplog.records)
        await asyncio.to_thread(server.listen)
        return await task

    with FakeModelServer() as server, caplog.at_level(logging.WARNING):
        reply = use(make(server, retry_attempts=100, retry_pause=0.05), work)
    assert reply.message.content == "ok"
    assert "trying again" in caplog.text


def test_a_server_that_is_gone_is_retryable(make: Make, ask: Ask, use: Use, caplog: pytest.LogCaptureFixture) -> None:
    async def work(model: OpenAIModel) -> None:
        await asyncio.to_thread(server.refuse)
        await model.complete(ask())

    with FakeModelServer() as server, pytest.raises(EpisodeError, match="refused") as caught:
        use(make(server, retry_attempts=3), work)
    assert caught.value.retryable
    assert not caught.value.fatal
    assert "tried 3 times" in str(caught.value)
    assert len(caplog.records) == 1, "failures that follow at once are not told again"


# -- waiting ------------------------------------------------------------------------------------------------------


def test_retry_after_is_honoured(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("status", status=429, headers={"Retry-After": "0.3"}))
        started = time.monotonic()
        use(make(server), lambda model: model.complete(ask()))
        assert time.monotonic() - started >= 0.3


def test_a_retry_after_beyond_the_budget_ends_the_tries_at_once(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer() as server:
        server.inject(Fault("status", status=429, headers={"Retry-After": "3600"}), times=None)
        error = fail(make, ask, use, server)
        assert server.counters.requests == 1
    assert "asks to wait 3600 s" in str(error)
    assert error.retryable


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("2", 2.0), ("-1", 0.0), ("nan", None), ("inf", None), ("soon", None), (None, None)],
)
def test_retry_after_is_a_number(given: str | None, seconds: float | None) -> None:
    headers = {} if given is None else {"Retry-After": given}
    assert from_status("X", 429, headers, "").retry_after == seconds


def test_retry_after_is_a_date() -> None:
    waited = from_status("X", 503, {"Retry-After": email.utils.formatdate(time.time() + 60)}, "").retry_after
    assert waited is not None
    assert 55 < waited <= 60


def test_pauses_double_up_to_a_bound_and_jitter() -> None:
    retry = Retry(attempts=10, budget=60, pause=0.5)
    for attempt, most in [(1, 0.5), (2, 1.0), (5, 8.0), (6, 16.0), (60, 16.0)]:
        drawn = {retry._pause(attempt) for _ in range(50)}
        assert most / 2 <= min(drawn) < max(drawn) <= most


def test_a_connection_that_takes_too_long() -> None:
    error = from_exception("POST u", aiohttp.ConnectionTimeoutError(), connect=10, request=600)
    assert "no connection within 10 s" in str(error)
    assert error.again


# -- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 200])
def test_the_key_shows_nowhere(
    make: Make, ask: Ask, use: Use, key: str, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "header-secret-value"
    said = f"{'x' * 180} no key {key} or {secret}; {'y' * 500}"
    with FakeModelServer() as server, caplog.at_level(logging.DEBUG):
        server.inject(Fault("status", status, body=said), times=None)
        server.inject(Fault("status", 404, body=said), models=True)
        error = fail(make, ask, use, server, headers={"X-Key": secret}, retry_attempts=2)
    shown = "".join(traceback.format_exception(error)) + repr(error) + caplog.text
    assert "***" in shown
    assert key[:12] not in shown
    assert secret[:8] not in shown


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "a", "code": "c"}}', ("a", "c")),
        ('{"error": "a"}', ("a", "")),
        ('{"object": "error", "message": "a", "code": 400}', ("a", "400")),
        ('{"detail": [{"loc": ["x"]}]}', ('[{"loc": ["x"]}]', "")),
        ("plain\x1b[31m\n text", ("plain [31m text", "")),
        ("", ("", "")),
        ("[" * 100_000, ("[" * 197 + "...", "")),
    ],
)
def test_error_bodies_of_all_forms_become_one_line(body: str, said: tuple[str, str]) -> None:
    assert explain(body) == said


def test_an_html_error_becomes_one_short_line() -> None:
    text, _ = explain(HTML)
    assert text.startswith("502 Bad Gateway nginx nginx")
    assert len(text) <= 200
