"""Our own plugins pass the conformance kit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from aworld_cli.testing import Check, Conformance
from aworld_cli.testing.model_server import FakeModelServer, Latency
from tests.testing.samples import SERVER

TINY = {"create": {"hidden": 16, "layers": 1, "heads": 2, "vocabulary": 300}}
SEARCH = {"command": sys.executable, "args": ["-S", "-c", SERVER], "name": "search"}
CALL = {"tool": "lookup", "arguments": {"word": "x"}}

RECIPE = """\
aworld: 1
name: conformance
model: {kind: arithmetic-teacher, accuracy: 0.7}
tools: [{kind: calculator}]
environment: {kind: arithmetic}
stages:
  - rollout: {split: train, tasks: 8}
  - eval: {split: test, tasks: 8, samples: 4, k: [1, 4]}
"""


def answer(messages: list[dict[str, Any]], seed: int) -> str:
    """Answer as a model that samples does: by the conversation and the seed."""
    return f"{len(messages)} messages, seed {seed}"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FakeModelServer]:
    with FakeModelServer(chat=answer, latency=Latency(0.02, sigma=0.5)) as server:
        yield server


#: The port is not known when checks are collected, so the address is put in by the test.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "builtin": {"model/scripted": {"replies": [CALL, "42"]}, "tool/stdio": SEARCH},
    "arithmetic": {},
    "local": {"model/local": TINY},
    "openai": {"model/openai": {"model": "fake"}},
    "toolbox": {},
    "verl": {},
}
KITS = {
    name: Conformance(name, options=options, recipe=RECIPE if name == "arithmetic" else None)
    for name, options in OPTIONS.items()
}
ALL = [(name, check) for name, kit in KITS.items() for check in kit.checks()]
#: verl's import takes ten seconds, and tests/doctor takes this look at it.
CHECKS = [
    pytest.param(*one, id=f"{one[0]}: {one[1]}") for one in ALL if (one[0], str(one[1])[:6]) != ("verl", "doctor")
]


@pytest.mark.parametrize(("plugin", "check"), CHECKS)
def test_conformance(plugin: str, check: Check, endpoint: FakeModelServer) -> None:
    if plugin == "openai":
        OPTIONS["openai"]["model/openai"]["base_url"] = endpoint.base_url
    check()
