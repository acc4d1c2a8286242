"""Broken plugins never harm a command that does not name them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aworld_cli.host.loader import Plugin, load_plugins
from tests.conftest import AddPlugin, Aworld

GOOD = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("tool", "calculator", "mine", "nowhere:factory", "nowhere:Config")]
"""
HOOK = "from aworld_cli.host import Command, Component, hookimpl\naworld_api = 1\n@hookimpl\ndef "
BROKEN = {
    "import-error": ("import does_not_exist_anywhere", "ModuleNotFoundError"),
    "syntax": ("def", "SyntaxError"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "generator-exit": ("raise GeneratorExit", "GeneratorExit: no message"),
    "cancelled": ("import asyncio\nraise asyncio.CancelledError('no')", "CancelledError: no"),
    "own-base": ("class Mine(BaseException): pass\nraise Mine('x\\n y')", "Mine: x y"),
    "no-text": (
        "class Mine(Exception):\n    def __str__(self): raise ValueError\nraise Mine",
        "Mine: its text cannot be had (ValueError)",
    ),
    "endless": ("def f(): f()\nf()", "RecursionError"),
    "old": ("aworld_api = 99", "plugin API 99"),
    "no-version": ("x = 1", "states no aworld_api"),
    "unknown-hook": (HOOK + "aworld_no_such_hook(): pass", "unknown hook 'aworld_no_such_hook'; there are aworld_c"),
    "unknown-argument": (HOOK + "aworld_components(more): return []", "more"),
    "raises-in-hook": (HOOK + "aworld_components(): 1 / 0", "ZeroDivisionError"),
    "exits-in-hook": (HOOK + "aworld_components(): raise SystemExit", "SystemExit"),
    "wrong-record": (HOOK + "aworld_components(): return ['x']", "not a Component"),
    "no-list": (HOOK + "aworld_components(): return 7", "returned a int, not a list of Components"),
    "text": (HOOK + "aworld_components(): return 'abc'", "returned a str, not a list of Components"),
    "one": (GOOD.replace("return [", "return (").replace('")]', '"))'), "returned a Component, not a list"),
    "wrapper": (
        (HOOK + "aworld_components(): yield").replace("@hookimpl\n", "@hookimpl(wrapper=True)\n"),
        "aworld_components is a wrapper",
    ),
    "wrong-kind": (GOOD.replace('"tool"', '"tol"'), "of the kind 'tol'; there are model, tool"),
    "wrong-factory": (GOOD.replace("nowhere:factory", "nowhere.factory"), "the factory of the tool 'calculator' is"),
    "class-as-config": (
        GOOD.replace('"nowhere:Config"', "int"),
        "the config of the tool 'calculator' is <class 'int'>",
    ),
    "no-summary": (GOOD.replace('"mine"', "None"), "the summary of the tool 'calculator' is None, not a text"),
    "wrong-name": (GOOD.replace('"calculator"', '"my/tool"'), "'my/tool' is no name for a component"),
    "twice": (GOOD.replace("return [", "return 2 * ["), "it offers two tools called 'calculator'"),
    "wrong-command": (
        HOOK + "aworld_commands(): return [Command('mine', 'mine', 'nowhere')]",
        "the app of the command 'mine' is 'nowhere', not of the form",
    ),
}


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Plugin]]]:
    """Load all plugins in this process, those of `add_plugin` too; by name."""

    def load_all(**options: object) -> dict[str, Plugin]:
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        return {plugin.name: plugin for plugin in load_plugins(**options)}  # type: ignore[arg-type]

    yield load_all
    for name in [name for name in sys.modules if name.startswith("test_plugin_")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", BROKEN)
def test_broken_plugin_is_told_by_its_status(
    name: str, add_plugin: AddPlugin, load: Callable[..., dict[str, Plugin]]
) -> None:
    source, reason = BROKEN[name]
    add_plugin(name, source)
    found = load()
    assert found[name].status == ("incompatible" if name in ("old", "no-version") else "failed")
    assert reason in found[name].reason
    assert "\n" not in found[name].reason
    assert not found[name].components and found[name].module is None
    assert {plugin.status for plugin in found.values() if plugin.name != name} == {"ok"}


def test_all_broken_plugins_at_once_cost_a_line_each(
    aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Callable[..., Path]
) -> None:
    for name, (source, _) in BROKEN.items():
        add_plugin(name, source)
    for arguments in (
        ["validate", teacher_recipe()],
        ["--help"],
        ["plugins", "--json"],
        ["plugins", "show", "calculator"],
    ):
        done = aworld(*arguments)
        assert done.returncode == 0, done.stderr
        lines = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
        assert len(lines) == len(BROKEN) == len(done.stderr.splitlines())
        for name, (_, reason) in BROKEN.items():
            assert [f"plugin {name!r} of aworld-{name} 1.0" in line and reason in line for line in lines].count(
                True
            ) == 1


def test_commands_that_need_no_plugin_load_none(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("loud", "print('imported')\nraise SystemExit(3)")
    for arguments in (["--version"], ["plugins", "--help"], ["plugins", "uninstall", "no-such-plugin"]):
        done = aworld(*arguments)
        assert "imported" not in done.stderr and "not used" not in done.stderr


def test_what_a_plugin_does_to_the_process_is_undone(aworld: Aworld, add_plugin: AddPlugin, tmp_path: Path) -> None:
    add_plugin(
        "rude",
        "import os, sys, io\n"
        "os.write(1, b'one\\n')\nprint('two')\nsys.__stdout__.write('three\\n')\nos.system('echo four')\n"
        "os.chdir('/')\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer)\nsys.stdout = None\nsys.stderr = None\n"
        "aworld_api = 1",
    )
    add_plugin(
        "logs",
        "import logging, sys\nlogging.getLogger('x').addHandler(logging.StreamHandler(sys.stdout))\naworld_api = 1",
    )
    add_plugin("closes", "import sys, os\nsys.stdout.close()\nos.close(1)\naworld_api = 1")
    add_plugin("then", "import os, logging\nlogging.getLogger('x').error('at %s', os.getcwd())\naworld_api = 1")
    done = aworld("plugins", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["status"] for row in rows if row["plugin"] in ("rude", "closes", "logs", "then")} == {"ok"}
    said = done.stderr.splitlines()
    assert {"one", "two", "three", "four"} <= set(said)
    assert f"at {tmp_path}" in said
    assert "Traceback" not in done.stderr and "Error" not in done.stderr


@pytest.mark.parametrize("redirection", ["1>&-", "2>&-", "1>&- 2>&-"])
def test_a_closed_stream_is_no_crash(redirection: str, tmp_path: Path, add_plugin: AddPlugin) -> None:
    add_plugin("loud", "print('hello')\naworld_api = 1")
    command = f"{sys.executable} -m aworld_cli plugins show calculator {redirection}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "'loud'" not in done.stderr  # the plugin is not to blame


def test_an_interrupt_during_an_import_interrupts(tmp_path: Path, add_plugin: AddPlugin) -> None:
    started = tmp_path / "started"
    add_plugin("slow", f"import pathlib, time\npathlib.Path({str(started)!r}).touch()\ntime.sleep(60)")
    process = subprocess.Popen(
        [sys.executable, "-m", "aworld_cli", "plugins"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert said == "error: interrupted\n"


def test_a_slow_import_is_noted_and_no_error(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("slow", "import time\ntime.sleep(0.6)\naworld_api = 1")
    done = aworld("plugins", "--json", "--check")
    (row,) = [row for row in map(json.loads, done.stdout.splitlines()) if row["plugin"] == "slow"]
    assert done.returncode == 0 and row["status"] == "ok"
    assert row["seconds"] > 0.6 and row["reason"].startswith("slow: its import took 0.")


@pytest.mark.parametrize("name", ["import-error", "old"])
def test_strict_raises_for_authors(name: str, aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin(name, BROKEN[name][0])
    done = aworld("plugins", env={"AWORLD_STRICT_PLUGINS": "1"})
    assert done.returncode == 5 and not done.stdout
    assert ("Traceback" in done.stderr) == (name == "import-error")
    assert done.stderr.splitlines()[-1].startswith(f"error: plugin '{name}' of aworld-{name} 1.0: ")
    assert aworld("plugins", env={"AWORLD_STRICT_PLUGINS": "0"}).returncode == 0


def test_printing_on_import_keeps_stdout_clean(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("loud", "print('hello from a plugin')\naworld_api = 1")
    done = aworld("plugins", "--json")
    assert all(json.loads(line) for line in done.stdout.splitlines())
    assert "hello from a plugin" in done.stderr


def test_disabled_plugins_are_not_imported(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("loud", "print('imported')\naworld_api = 1")
    for done in (
        aworld("plugins", "--json", "--disable-plugin", "loud"),
        aworld("plugins", "--json", "--disable-plugin=Aworld_Loud"),
        aworld("plugins", "--json", "--no-plugins"),
        aworld("plugins", "--json", env={"AWORLD_DISABLE_PLUGINS": "loud"}),
    ):
        assert "imported" not in done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert [row["status"] for row in rows if row["plugin"] == "loud"] == ["disabled"]


def test_two_plugins_with_one_name(aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Callable[..., Path]) -> None:
    add_plugin("mine", GOOD)
    recipe = teacher_recipe()
    done = aworld("validate", recipe)
    assert done.returncode == 5
    assert "aworld-mine/calculator" in done.stderr and "aworld-toolbox/calculator" in done.stderr
    text = recipe.read_text()
    for written in ("aworld-toolbox/calculator", "Aworld_Toolbox/calculator"):
        recipe.write_text(text.replace("kind: calculator", f"kind: {written}"))
        assert aworld("validate", recipe).returncode == 0


def test_component_that_cannot_be_imported_is_fatal_only_when_named(
    aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Callable[..., Path]
) -> None:
    add_plugin("mine", GOOD.replace('"calculator"', '"abacus"'))
    recipe = teacher_recipe()
    assert aworld("validate", recipe).returncode == 0
    recipe.write_text(recipe.read_text().replace("kind: calculator", "kind: abacus"))
    done = aworld("validate", recipe)
    assert done.returncode == 5
    assert "nowhere:Config" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--disable-plugin"], ["--disable-plugin="], ["--disable-plugin", "--json"]])
def test_disabling_no_plugin_in_particular_is_a_usage_error(arguments: list[str], aworld: Aworld) -> None:
    done = aworld("plugins", *arguments)
    assert done.returncode == 2
    assert done.stderr == "error: --disable-plugin takes the name of a plugin, as `aworld plugins` lists it\n"


def test_nothing_heavy_is_imported(tmp_path: Path, teacher_recipe: Callable[..., Path]) -> None:
    recipe = teacher_recipe()
    script = tmp_path / "modules.py"
    script.write_text(
        "import sys\nfrom aworld_cli.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'ray', 'transformers', 'verl', 'mcp', 'aiohttp', 'playwright', 'openai', 'numpy'}\n"
        "if sys.argv[1] != 'validate':\n    heavy |= {'pydantic_settings', 'dotenv', 'yaml', 'asyncio', 'jinja2'}\n"
        "if sys.argv[1] != 'validate':\n    heavy |= {'rich'}\n"
        "if sys.argv[1] == '--help':\n    heavy |= {'pydantic', 'importlib.metadata', 'email', 'zipfile'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    for arguments in (["--help"], ["--version"], ["plugins"], ["validate", str(recipe)]):
        done = subprocess.run(
            [sys.executable, str(script), *arguments],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert done.stderr.splitlines()[-1] == "HEAVY []", arguments
