"""The fake server itself: what other plugins' tests build on."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aworld_cli.model.base import Generation
from aworld_cli.testing.model_server import FakeModelServer, Fault, Latency


def post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.loads(response.read())


def test_generate_gives_ids_and_log_probabilities() -> None:
    def tokens(ids: list[int], seed: int) -> Generation:
        return Generation([*reversed(ids), seed], [-0.25] * (len(ids) + 1), "length")

    body = {"input_ids": [1, 2], "sampling_params": {"sampling_seed": 9}, "return_logprob": True}
    with FakeModelServer(tokens=tokens) as server:
        answer = post(f"{server.url}/generate", body)
        plain = post(f"{server.url}/generate", {"input_ids": [3]})
    assert answer["output_ids"] == [2, 1, 9]
    assert answer["meta_info"]["output_token_logprobs"] == [[-0.25, 2, None], [-0.25, 1, None], [-0.25, 9, None]]
    assert answer["meta_info"]["finish_reason"] == {"type": "length", "length": 3}
    assert (answer["meta_info"]["prompt_tokens"], answer["meta_info"]["completion_tokens"]) == (2, 3)
    assert "output_token_logprobs" not in plain["meta_info"]


def test_latency_depends_on_the_request_alone() -> None:
    latency = Latency(0.5, sigma=1.0, seed=3)
    drawn = [latency.seconds(seed) for seed in range(2_000)]
    assert drawn == [latency.seconds(seed) for seed in range(2_000)]
    assert len(set(drawn)) == 2_000
    assert sum(drawn) / len(drawn) == pytest.approx(0.5, rel=0.1)
    assert Latency(0.5).seconds(1) == 0.5
    assert Latency(0.5, sigma=1.0, seed=4).seconds(0) != drawn[0]


def test_counters_see_what_is_in_flight_at_once() -> None:
    with FakeModelServer(latency=0.2) as server, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: post(f"{server.base_url}/chat/completions", {"messages": []}), range(8)))
    counters = server.counters
    assert (counters.requests, counters.peak_in_flight, counters.connections, counters.in_flight) == (8, 8, 8, 0)


def test_faults_end_by_count_or_by_healing() -> None:
    def status() -> int:
        try:
            post(url, {"messages": []})
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        return 200

    with FakeModelServer() as server:
        url = f"{server.base_url}/chat/completions"
        server.inject(Fault("status", 503), times=2)
        assert [status() for _ in range(3)] == [503, 503, 200]
        server.inject(Fault("status", 418), times=None)
        assert [status() for _ in range(3)] == [418, 418, 418]
        server.heal()
        assert status() == 200


def test_refuse_and_listen_again_on_the_same_port() -> None:
    with FakeModelServer() as server:
        url = f"{server.base_url}/chat/completions"
        server.refuse()
        with pytest.raises(urllib.error.URLError, match="refused"):
            post(url, {"messages": []})
        server.listen()
        assert post(url, {"messages": []})["choices"][0]["message"]["content"] == "ok"
