"""What the tests of aworld-openai share: a started model in front of a fake server, and a request to send."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.model.base import ChatRequest, ModelContext, SamplingParams
from aworld_cli.testing.model_server import FakeModelServer
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message
from aworld_openai.config import OpenAIConfig
from aworld_openai.model import OpenAIModel, openai

KEY = "sk-never-show-this-key"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def key() -> str:
    """The API key, which must appear in no text."""
    return KEY


@pytest.fixture
def make() -> Callable[..., OpenAIModel]:
    """Make a model for a server or a URL; retries have no pause unless a test asks for one."""

    def made(server: FakeModelServer | str, **options: Any) -> OpenAIModel:
        url = server if isinstance(server, str) else server.base_url
        config = OpenAIConfig(**{"base_url": url, "model": "fake", "api_key": KEY, "retry_pause": 0, **options})
        return openai(config, ModelContext(run_dir=Path(), seed=0))

    return made


@pytest.fixture
def ask() -> Callable[..., ChatRequest]:
    """Make a request of one user message, or of the messages given."""

    def made(*messages: Message, tools: Sequence[ToolSpec] = (), seed: int = 1) -> ChatRequest:
        params = SamplingParams(temperature=0.5, top_p=0.9, max_tokens=64, seed=seed)
        return ChatRequest(messages or (Message("user", "hello"),), tools, params)

    return made


@pytest.fixture
def use() -> Callable[..., Any]:
    """Start a model, do something with it, close it."""

    def used(model: OpenAIModel, work: Callable[[OpenAIModel], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            await model.start()
            try:
                return await work(model)
            finally:
                await model.close()

        return asyncio.run(main())

    return used


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Awaitable[None]]:
    """Wait within a coroutine until something holds, a few seconds at most."""

    async def waited(condition: Callable[[], Any]) -> None:
        for _ in range(1_000):
            if condition():
                return
            await asyncio.sleep(0.005)
        pytest.fail("it never came true")

    return waited
