"""The fake server as an SGLang server: health, what it serves, and requests that are aborted."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aworld_cli.testing.model_server import FakeModelServer, Fault


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as response:
        text = response.read()
    return json.loads(text) if text else response.status


def post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        text = response.read()
    return json.loads(text) if text else response.status


def test_it_tells_what_it_serves() -> None:
    with FakeModelServer(models=("org/tiny",)) as server:
        assert get(f"{server.url}/health") == get(f"{server.url}/health_generate") == 200
        for path in ("model_info", "get_model_info", "server_info", "get_server_info"):
            assert get(f"{server.url}/{path}")["model_path"] == "org/tiny"
        assert get(f"{server.url}/get_model_info")["is_generation"] is True


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize("late", ["slow", "latency", "hang"])
def test_a_request_is_aborted_by_its_id_and_the_others_are_not(late: str) -> None:
    with FakeModelServer(latency=0.5 if late == "latency" else 0.0) as server, ThreadPoolExecutor(2) as pool:
        if late != "latency":
            server.inject(Fault("hang" if late == "hang" else "slow", seconds=30), times=1)
        aborted = pool.submit(post, f"{server.url}/generate", {"input_ids": [1], "rid": "a"})
        wait_for(lambda: len(server.received) == 1)
        other = pool.submit(post, f"{server.url}/generate", {"input_ids": [2], "rid": "b"})
        wait_for(lambda: len(server.received) == 2)
        assert post(f"{server.url}/abort_request", {"rid": "a"}) == 200
        meta = aborted.result(5)["meta_info"]
        assert (meta["finish_reason"], meta["completion_tokens"]) == ({"type": "abort"}, 0)
        assert other.result(5)["output_ids"] == [2]
        assert server.aborts == ["a"]
        assert server.counters.in_flight == 0


def test_all_requests_are_aborted_and_unknown_ones_do_no_harm() -> None:
    with FakeModelServer(latency=30.0) as server, ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(post, f"{server.url}/generate", {"input_ids": [1], "rid": rid}) for rid in "abc"]
        wait_for(lambda: server.counters.in_flight == 3)
        assert post(f"{server.url}/abort_request", {"rid": "nobody"}) == 200
        assert post(f"{server.url}/abort_request", {"abort_all": True}) == 200
        assert {one.result(5)["meta_info"]["finish_reason"]["type"] for one in waiting} == {"abort"}
