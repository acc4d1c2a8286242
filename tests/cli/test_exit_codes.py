"""The table of exit codes: every code is documented, and each has a command that ends with it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aworld_cli import errors
from aworld_cli.errors import EXIT_CODES, AWorldError
from aworld_cli.testing.model_server import FakeModelServer
from tests.conftest import AddPlugin, Aworld
from tests.run.conftest import SLOW, Running

Recipe = Callable[..., Path]
TABLE = dict(EXIT_CODES)
FAILING = ("--set", "model={kind: openai, base_url: 'http://127.0.0.1:9/v1', model: m, retry_attempts: 1}")


def commands(recipe: Path) -> Iterator[tuple[int, list[str], str]]:
    """Yield a code, a command that ends with it, and what it says."""
    run = ["run", str(recipe)]
    wrong = ["--set", "model={kind: arithmetic-teacher, accuracy: 0, tool_share: 0}", "--set", "tools=[]"]
    yield 0, run, "eval done in"
    yield 1, [*run, *wrong, "--min-score", "0.5"], "is below --min-score 50 %"
    yield 1, [*run, "--set", "model={kind: failing}"], "failed for infrastructure reasons (more than --max-errors 0)"
    yield 0, [*run, "--set", "model={kind: failing}", "--max-errors", "6"], "eval done in"
    yield 1, ["plugins", "--check"], "broken"
    yield 2, [*run, "--max-errors", "many"], "--max-errors"
    yield 2, ["run"], "name a recipe file"
    yield 4, [*run, "--set", "seed=-1"], "seed"
    yield 5, [*run, "--set", "model={kind: nobody}"], "no model is called 'nobody'"
    yield 6, [*run, *FAILING], "the connection was refused"


PLUGIN = """
from pydantic import BaseModel
from aworld_cli.errors import EpisodeError
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("model", "failing", "failing", __name__ + ":model", __name__ + ":Config")]
class Config(BaseModel):
    pass
class Model:
    name = "failing"
    async def start(self):
        pass
    async def close(self):
        pass
    async def complete(self, request):
        raise EpisodeError("model", "down", retryable=False)
def model(config, context):
    return Model()
"""


def test_each_code_that_a_command_alone_can_end_with(
    aworld: Aworld, teacher_recipe: Recipe, add_plugin: AddPlugin
) -> None:
    add_plugin("failing", PLUGIN)
    add_plugin("broken", "raise ImportError('broken')")
    for code, command, said in commands(teacher_recipe(tasks=2)):
        done = aworld(*command)
        assert done.returncode == code, (command, done.stderr)
        assert said in done.stdout + done.stderr, (command, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 3), (signal.SIGHUP, 3), (signal.SIGINT, 130)])
def test_the_codes_of_a_run_that_is_stopped(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with FakeModelServer(latency=60) as server:
        text = SLOW.format(url=server.base_url, tasks=1, concurrency=2, tools="[]")
        (tmp_path / "recipe.yaml").write_text(text)
        run = Running(["recipe.yaml", "--grace", "0"], tmp_path)
        try:
            run.wait_for(lambda: server.counters.in_flight == 2)
            run.send(number)
            assert run.end() == code, run.said
            assert "go on with: aworld run --resume" in run.said
        finally:
            run.process.kill()
            run.process.communicate()


def test_the_table_is_whole_and_what_is_raised_is_in_it(teacher_recipe: Recipe) -> None:
    assert {*TABLE} == {code for code, _, _ in commands(Path())} | {3, 130}
    assert [*TABLE] == sorted(TABLE) and len(EXIT_CODES) == len(TABLE)
    raised = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, AWorldError)]
    assert {item.exit_code for item in raised} <= {*TABLE} and len(raised) > 5


def test_help_tells_every_code(aworld: Aworld) -> None:
    shown = " ".join(aworld("run", "--help").stdout.split())
    _, _, codes = shown.partition("Exit codes: ")
    assert all(f"{code} " in codes for code in TABLE)
