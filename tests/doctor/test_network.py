"""Ports, proxies and endpoints, on the loopback interface alone."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from aworld_cli.doctor import keys, network


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def closed() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


def test_rays_ports(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "RAY_PORTS", {closed(): "Ray's head"})
    assert network.ports().status == "ok"
    monkeypatch.setattr(network, "RAY_PORTS", {listening: "Ray's head"})
    found = network.ports()
    assert found.status == "warning" and f"taken: {listening} (Ray's head)" in found.detail


def test_an_endpoint(listening: int) -> None:
    assert network.endpoint(f"http://127.0.0.1:{listening}/v1", "SHOWN").status == "ok"
    found = network.endpoint(f"http://127.0.0.1:{closed()}/v1", "SHOWN")
    assert found.status == "error" and found.detail == "SHOWN accepts no connection: Connection refused"
    for url in ("http://", "http://[broken", "http://x:port"):
        assert network.endpoint(url, "SHOWN").status == "error"


def test_an_endpoint_behind_a_proxy(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", f"http://user:secret@127.0.0.1:{listening}")
    found = network.endpoint("https://far.invalid/v1", "SHOWN")
    assert (found.status, found.detail) == ("ok", "SHOWN accepts connections (by the proxy of https_proxy)")
    monkeypatch.setenv("no_proxy", "far.invalid")
    assert network.endpoint("https://far.invalid/v1", "SHOWN").status == "error"


def test_proxies_are_named_without_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert network.proxies().detail == "none"
    monkeypatch.setenv("HTTPS_PROXY", "http://user:secret@proxy:3128")
    found = network.proxies()
    assert found.status == "warning" and "secret" not in found.detail and "HTTPS_PROXY" in found.detail
    monkeypatch.setenv("no_proxy", "example.org, localhost")
    assert network.proxies().status == "ok"


def test_keys_are_named_without_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in keys.KEYS:
        monkeypatch.delenv(name, raising=False)
    assert keys.keys().status == "missing"
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    found = keys.keys()
    assert (found.status, found.detail) == ("ok", "HF_TOKEN set; OPENAI_API_KEY, ANTHROPIC_API_KEY not set")


def test_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME", "secret")
    assert keys.variable("SOME", has_default=False).detail == "set"
    monkeypatch.setenv("SOME", "")
    assert keys.variable("SOME", has_default=False).status == "warning"
    monkeypatch.delenv("SOME")
    assert keys.variable("SOME", has_default=True).status == "ok"
    assert keys.variable("SOME", has_default=False).status == "error"
