"""A request that does not fit the model's context is a limit of the episode, however the endpoint says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aworld_cli.errors import ContextOverflow, EpisodeError
from aworld_cli.model.base import ChatRequest
from aworld_cli.testing.model_server import FakeModelServer, Fault
from aworld_openai.failures import is_too_long
from aworld_openai.model import OpenAIModel

Make = Callable[..., OpenAIModel]
Ask = Callable[..., ChatRequest]
Use = Callable[..., Any]

TOO_LONG = [
    ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", ""),
    ("Your input is too big", "context_length_exceeded"),
    ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", ""),
    ("Requested token count exceeds the model's maximum context length of 4096 tokens.", ""),
    ("the request exceeds the available context size (4096 tokens), try increasing it", ""),
    ("prompt is too long: 205000 tokens > 200000 maximum", "400"),
    ("The input token count (40000) exceeds the maximum number of tokens allowed (32768).", ""),
    ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens", ""),
]
OTHERWISE = [
    ("Unrecognized request argument supplied: context_length", ""),
    ("max_tokens is too large", "invalid_value"),
    ("the model's context window is 4096 tokens", ""),
    ("", ""),
]


@pytest.mark.parametrize(("said", "code"), TOO_LONG)
def test_what_endpoints_say(said: str, code: str) -> None:
    assert is_too_long(400, said, code)
    assert not is_too_long(500, said, code)


@pytest.mark.parametrize(("said", "code"), OTHERWISE)
def test_what_means_something_else(said: str, code: str) -> None:
    assert not is_too_long(400, said, code)


def test_it_is_asked_once_and_told_apart_from_a_failure(make: Make, ask: Ask, use: Use) -> None:
    with FakeModelServer() as server:
        said, _ = TOO_LONG[0]
        server.inject(Fault("status", 400, body={"error": {"message": said}}))
        with pytest.raises(ContextOverflow) as caught:
            use(make(server), lambda model: model.complete(ask()))
        assert server.counters.requests == 1 and "maximum context length is 128000" in str(caught.value)
        server.inject(Fault("status", 400, body={"error": {"message": "no such key"}}))
        with pytest.raises(EpisodeError) as other:
            use(make(server), lambda model: model.complete(ask()))
        assert not isinstance(other.value, ContextOverflow)
