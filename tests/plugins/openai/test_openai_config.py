"""The options: what is refused, and that no secret shows."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from aworld_openai.config import OpenAIConfig


def test_defaults_suit_openai_and_do_not_cap_a_runtime() -> None:
    config = OpenAIConfig(model="m")
    assert config.base_url == "https://api.openai.com/v1"
    assert config.max_connections >= 4096
    assert config.api_key is None


def test_a_trailing_slash_is_tolerated() -> None:
    assert OpenAIConfig(model="m", base_url=" http://h:1/v1/ ").base_url == "http://h:1/v1"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("localhost:8000/v1", "starts with http://"),
        ("ftp://h/v1", "starts with http://"),
        ("http://", "starts with http://"),
        ("http://h:port/v1", "is not a URL"),
        ("http://user:pw-hidden@h/v1", "no user or password"),
        ("http://h/v1?key=pw-hidden", "neither ?query"),
        ("http://h/v1/chat/completions", "leave that off"),
    ],
)
def test_a_base_url_that_cannot_be_meant_is_refused_with_the_reason(url: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        OpenAIConfig(model="m", base_url=url)
    assert said in str(caught.value)
    assert "pw-hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"nope": 1},
        {"model": ""},
        {"extra_body": {"stream": True}},
        {"extra_body": {"messages": []}},
        {"headers": {"two words": "x"}},
        {"headers": {"X-A": "a\r\nX-B: b"}},
        {"max_connections": 0},
        {"request_timeout": 0},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OpenAIConfig(**{"model": "m", **options})


def test_a_key_of_two_lines_is_refused_without_showing_it() -> None:
    with pytest.raises(ValidationError, match="line break") as caught:
        OpenAIConfig(model="m", api_key="sk-secret-one\nsk-secret-two")
    assert "sk-secret" not in str(caught.value)


def test_a_key_is_stripped_and_an_empty_one_is_none() -> None:
    stripped = OpenAIConfig(model="m", api_key=" sk-abcdef\n").api_key
    assert stripped is not None
    assert stripped.get_secret_value() == "sk-abcdef"
    assert OpenAIConfig(model="m", api_key="").api_key is None


def test_secrets_show_in_no_form_of_the_options(key: str) -> None:
    config = OpenAIConfig(model="m", api_key=key, headers={"api-key": "other-secret"})
    shown = f"{config!r} {config} {config.model_dump()} {config.model_dump_json()}"
    assert key not in shown
    assert "other-secret" not in shown
    assert set(config.secrets) == {key, "other-secret"}


def test_every_option_is_described() -> None:
    assert all(field.description for field in OpenAIConfig.model_fields.values())
