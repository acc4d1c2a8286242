"""pytest fixtures for plugin authors: `pytest_plugins = ["aworld_cli.testing.fixtures"]` in a conftest.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.testing.model_server import FakeModelServer
    from aworld_cli.testing.scripted import RecordingModel

#: Starts a fake model server; it is given what `FakeModelServer` is.
StartServer = Callable[..., "FakeModelServer"]
#: Makes a scripted model of its replies.
MakeModel = Callable[..., "RecordingModel"]


@pytest.fixture
def model_server() -> Iterator[StartServer]:
    """Start fake model servers, stopped at the test's end: `server = model_server(chat=..., latency=0.1)`.

    They speak the OpenAI chat API (`server.base_url`) and SGLang's own (`server.url`), and need aiohttp.
    """
    from aworld_cli.testing.model_server import FakeModelServer

    with ExitStack() as stack:

        def start(*arguments: Any, **options: Any) -> FakeModelServer:
            return stack.enter_context(FakeModelServer(*arguments, **options))

        yield start


@pytest.fixture
def run_directory(tmp_path: Path) -> Iterator[RunDirectory]:
    """A run's directory, locked by this process as a run's is, below `tmp_path`."""
    from aworld_cli.run.directory import RunDirectory

    directory = RunDirectory.create(tmp_path / "runs", "test")
    try:
        yield directory
    finally:
        directory.close()


@pytest.fixture
def scripted_model() -> MakeModel:
    """Make models that follow a script: `model = scripted_model({"tool": "search"}, "42")`; see `model.requests`."""
    from aworld_cli.testing.scripted import RecordingModel

    return RecordingModel
