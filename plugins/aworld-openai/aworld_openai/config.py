"""The options of `model: {kind: openai}`."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from aworld_cli.recipe import NamedValue

_OURS = ("messages", "model", "n", "stream", "tools")


class OpenAIConfig(BaseModel):
    """Options of `model: {kind: openai}`."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    base_url: str = Field(
        "https://api.openai.com/v1",
        description="Where the API lies, an http(s) URL that mostly ends in /v1; /chat/completions is added to it.",
    )
    model: str = Field(min_length=1, description="The model's name, as the endpoint knows it.")
    api_key: SecretStr | None = Field(
        None,
        description="The key, sent as a bearer token; written ${env:NAME}; none where the endpoint needs none.",
    )
    headers: dict[str, NamedValue] = Field(
        default_factory=dict,
        description="Further HTTP headers of each request, by name; a credential is written ${env:NAME}.",
    )
    extra_body: dict[str, Any] = Field(
        default_factory=dict,
        description="Further keys of each chat request; one given here replaces ours, and null leaves it out "
        "(`{max_tokens: null, max_completion_tokens: 512}`).",
    )
    connect_timeout: float = Field(10, gt=0, description="Seconds to open one connection, TLS included.")
    request_timeout: float = Field(
        600,
        gt=0,
        description="Seconds for one whole request, from waiting for a connection to the last byte.",
    )
    max_connections: int = Field(4096, ge=1, le=100_000, description="Most connections, thus most requests, at a time.")
    retry_attempts: int = Field(
        8, ge=1, le=100, description="Tries of one request that meets 429, 5xx or a failing connection."
    )
    retry_budget: float = Field(
        60, ge=0, description="Seconds after a request's first failure within which it is tried again."
    )
    retry_pause: float = Field(
        0.5,
        ge=0,
        le=60,
        description="Seconds before the second try; doubled with each one more, up to 16 s, jittered.",
    )

    @field_validator("base_url")
    @classmethod
    def _http(cls, value: str) -> str:
        url = value.strip().rstrip("/")
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port  # reading the port checks it
        except ValueError:
            raise ValueError("is not a URL") from None
        if parts.username is not None or parts.password is not None:
            raise ValueError("must hold no user or password: give the key as api_key, or in headers")
        if parts.scheme not in ("http", "https") or not host:
            raise ValueError("must be a URL that starts with http:// or https://, as in http://127.0.0.1:8000/v1")
        if parts.query or parts.fragment:
            raise ValueError("must have nothing after its path, neither ?query nor #fragment")
        if url.endswith("/chat/completions"):
            raise ValueError("must not end in /chat/completions: leave that off, it is added")
        return url

    @field_validator("api_key")
    @classmethod
    def _key(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value().strip() if value is not None else ""
        return SecretStr(_sendable(key)) if key else None

    @field_validator("headers")
    @classmethod
    def _headers(cls, value: dict[str, SecretStr]) -> dict[str, SecretStr]:
        for name, text in value.items():
            if not name or not all(c.isascii() and (c.isalnum() or c in "!#$%&'*+-.^_`|~") for c in name):
                raise ValueError(f"{name!r} is not the name of an HTTP header")
            _sendable(text.get_secret_value())
        return value

    @field_validator("extra_body")
    @classmethod
    def _not_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        taken = [key for key in _OURS if key in value]
        if taken:
            raise ValueError(f"must not hold {', '.join(taken)}: AWorld sets that itself")
        return value

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must appear in no text, the longest first."""
        held = [self.api_key] if self.api_key is not None else []
        values = {secret.get_secret_value() for secret in (*held, *self.headers.values())}
        return tuple(sorted((value for value in values if len(value) >= 6), key=len, reverse=True))


def _sendable(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise ValueError("holds a character that an HTTP header cannot carry (a line break, say)")
    return text
