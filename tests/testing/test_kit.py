"""The kit as plugin authors use it: in a test file of their own, with its fixtures, and when something is missing."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from collections.abc import Callable
from pathlib import Path

import pytest

from aworld_cli.model.base import ChatRequest, SamplingParams
from aworld_cli.run.directory import RunDirectory
from aworld_cli.testing import Conformance
from aworld_cli.testing.check import Check
from aworld_cli.testing.fixtures import MakeModel, StartServer, model_server, run_directory, scripted_model
from aworld_cli.trajectory.message import Message
from tests.testing.conftest import CheckOf, Plant, failure
from tests.testing.samples import TOKEN_MODEL

__all__ = ["model_server", "run_directory", "scripted_model"]  # fixtures

AUTHORS_TEST = """
import pytest
from aworld_cli.testing import Conformance

kit = Conformance("{name}", options={{"environment/mine": {{"size": 10}}}})

@pytest.mark.parametrize("check", kit.checks(), ids=str)
def test_conformance(check):
    check()

def test_fixtures(model_server, run_directory, scripted_model):
    server = model_server(models=("mine",))
    assert server.base_url.startswith("http://127.0.0.1")
    assert run_directory.path.is_dir()
    assert scripted_model("42").requests == []
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "-v", *arguments, str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        timeout=120,
        check=False,
    )


def test_an_authors_own_tests(plant: Plant, tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "conftest.py").write_text('pytest_plugins = ["aworld_cli.testing.fixtures"]\n')
    (folder / "test_mine.py").write_text(AUTHORS_TEST.format(name=plant("environment")))
    done = run_pytest(folder)
    assert done.returncode == 0, done.stdout
    assert "test_conformance[environment/mine: options are strict] PASSED" in done.stdout
    assert "test_conformance[import weight] PASSED" in done.stdout
    assert "test_fixtures PASSED" in done.stdout


def test_an_author_reads_what_is_wrong_and_no_more(plant: Plant, tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    name = plant("environment", ('"forbid"', '"allow"'))
    (folder / "test_mine.py").write_text(AUTHORS_TEST.format(name=name).partition("def test_fixtures")[0])
    done = run_pytest(folder, "-k", "strict")
    assert done.returncode == 1
    assert "environment/mine: Config takes unknown keys" in done.stdout
    assert "check.py" not in done.stdout and "options.py" not in done.stdout


def test_a_component_without_defaults_is_skipped_but_for_its_options(plant: Plant) -> None:
    plugin = plant("environment", ("size: int = Field(20,", "size: int = Field("))
    skipped = []
    for check in Conformance(plugin).checks():
        try:
            check()
        except unittest.SkipTest as error:
            skipped.append(str(check))
            assert "options={'environment/mine': {...}}" in str(error)
    assert "environment/mine: grades every answer" in skipped
    assert not [name for name in skipped if "options" in name or "defaults" in name]
    for check in Conformance(plugin, options={"environment/mine": {"size": 5}}).checks():
        check()


def test_a_model_that_this_machine_cannot_start_is_skipped(plant: Plant, check_of: CheckOf) -> None:
    check = check_of(
        plant("model", ("        self.open = True\n", "        raise MachineError('needs a GPU')\n")),
        "starts, answers and stops",
    )
    with pytest.raises(unittest.SkipTest, match="model/mine: needs a GPU"):
        check()


def test_a_token_model(plant: Plant, check_of: CheckOf) -> None:
    for check in Conformance(plant("model", source=TOKEN_MODEL)).checks():
        check()
    for change, end, said in (
        ((" * len(ids)", ""), "starts, answers and stops", "a log-probability for each id"),
        (("[-0.5]", "[0.5]"), "starts, answers and stops", "log-probabilities that are none"),
        (("[-0.5]", "[float('nan')]"), "starts, answers and stops", "log-probabilities that are none"),
        (("[:4].encode()", ".encode() * 9"), "starts, answers and stops", "ids in two turns of max_tokens"),
        (("random.Random(params.seed)", "random"), "equal seeds give equal replies", "SamplingParams.seed"),
    ):
        text = failure(check_of(plant("model", change, source=TOKEN_MODEL), end))
        assert said in text, (change, text)


COMMAND = """
from aworld_cli.host import Command, hookimpl
aworld_api = 1
@hookimpl
def aworld_commands():
    return [Command("mine", "Mine", "{name}_impl:app")]
"""
APP = """
import typer
app = typer.Typer(help="Mine.")
@app.command()
def work(times: int = 1):
    pass
"""


def test_a_command_group(plant: Plant, check_of: CheckOf) -> None:
    for check in Conformance(plant("tool", entry=COMMAND, source=APP)).checks():
        check()
    for change, said in (
        (("app = typer.Typer", "app = dict"), "is a dict, not a typer.Typer"),
        (("@app.command()", ""), "--help` fails: RuntimeError"),
        (("import typer", "import nowhere_at_all"), "cannot be loaded: ModuleNotFoundError"),
    ):
        plugin = plant("tool", change, *([("@app", "#")] if "dict" in change[1] else []), entry=COMMAND, source=APP)
        assert said in failure(check_of(plugin, "command/mine: shows its help")), change


LOOK = """
from aworld_cli.host import Check, hookimpl
aworld_api = 1
@hookimpl
def aworld_checks():
    return [Check("mine", "Mine", "{name}_impl:look")]
"""
FINDING = """
from aworld_cli.doctor import Finding
def look():
    return Finding("missing", "no GPU", "buy one")
"""


def test_a_look_at_the_machine(plant: Plant, check_of: CheckOf) -> None:
    for check in Conformance(plant("tool", entry=LOOK, source=FINDING)).checks():
        check()
    for change, said in (
        ((', "buy one"', ""), "without a remedy"),
        (("    return Finding", "    return dict() or 1 / 0 or Finding"), "raised ZeroDivisionError"),
        (("    return Finding", "    return list"), "gave a list"),
        (("_impl:look", "_impl:looks"), "raised AttributeError"),
        (('look")', 'look", ("model/mine",))'), "which the plugin does not have"),
    ):
        plugin = plant(
            "tool",
            change,
            *([('("missing", "no GPU", "buy one")', "()")] if "gave" in said else []),
            entry=LOOK,
            source=FINDING,
        )
        assert said in failure(check_of(plugin, "doctor: finds something")), change


def test_options_that_do_not_fit_fail(plant: Plant) -> None:
    plugin = plant("environment")
    checks = Conformance(plugin, options={"environment/mine": {"sise": 5}}).checks()
    text = failure(next(check for check in checks if str(check).endswith("has splits")))
    assert "the options given to Conformance do not fit" in text and "sise" in text
    with pytest.raises(ValueError, match="has no 'environment/mien'; it has environment/mine"):
        Conformance(plugin, options={"environment/mien": {}}).checks()


def test_a_plugin_that_is_not_installed() -> None:
    (check,) = Conformance("no-such-plugin").checks()
    assert "pip install -e ." in failure(check)


def test_a_hanging_plugin_is_stopped() -> None:
    def hang() -> None:
        while True:
            pass

    assert "not done within 0.2 s" in failure(Check("mine", hang, seconds=0.2))


def test_event_hooks_hear_a_run(plant: Plant) -> None:
    source = """
from aworld_cli.host import hookimpl
aworld_api = 1
@hookimpl
def aworld_trajectory_finished(record):
    record["answer"].upper()
"""
    plugin = plant("tool", entry=source)
    checks = {str(check): check for check in Conformance(plugin).checks()}
    checks["offers something"]()
    checks["event hooks: hears a run"]()
    plugin = plant("tool", entry=source.replace('"answer"', '"reply"'))
    checks = {str(check): check for check in Conformance(plugin).checks()}
    assert "trajectory_finished() raised KeyError: 'reply'" in failure(checks["event hooks: hears a run"])


RECIPE = """\
aworld: 1
name: mine
model: {{kind: scripted, replies: ["{reply}"]}}
environment: {{kind: {name}/mine}}
stages:
  - eval: {{split: test, tasks: 3}}
"""


def test_a_recipe_runs_twice(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    name = plant("environment")
    (check,) = Conformance(name, recipe=RECIPE.format(name=name, reply="1")).checks()[-1:]
    assert str(check) == "recipe: runs, and again to the same result"
    check()
    name = plant("environment", ("Grade(float(correct)", "Grade(__import__('random').random()"))
    text = failure(Conformance(name, recipe=RECIPE.format(name=name, reply="1")).checks()[-1])
    assert "differ between two runs of one seed" in text
    text = failure(Conformance(name, recipe=RECIPE.format(name="nobody", reply="1")).checks()[-1])
    assert "ended with 5" in text and "nobody/mine" in text


@pytest.mark.parametrize("module", ["aworld_cli.testing", "aworld_cli.testing.fixtures"])
def test_importing_the_kit_is_light(module: str) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"aiohttp", "mcp", "torch", "numpy", "yaml", "psutil"}
    assert ("pytest" in loaded) == module.endswith("fixtures")


def test_the_fixtures(model_server: StartServer, run_directory: RunDirectory, scripted_model: MakeModel) -> None:
    servers = [model_server(latency=0.0), model_server()]
    assert servers[0].url != servers[1].url
    assert run_directory.path.parent.name == "runs"
    assert scripted_model is not None


def test_a_scripted_model_remembers_what_it_was_asked(scripted_model: MakeModel, ask: Callable[..., object]) -> None:
    model = scripted_model({"tool": "search", "arguments": {"query": "x"}}, "42")
    params = SamplingParams(1.0, 1.0, 16, seed=3)
    messages = [Message("user", "hello")]
    first = ask(model.complete(ChatRequest(messages, (), params)))
    messages.append(first.message)  # type: ignore[attr-defined]
    second = ask(model.complete(ChatRequest(messages, (), params)))
    assert second.message.content == "42"  # type: ignore[attr-defined]
    assert [len(request.messages) for request in model.requests] == [1, 2]


@pytest.fixture
def ask() -> Callable[..., object]:
    import asyncio

    return asyncio.run
