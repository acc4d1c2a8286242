"""Broken plugins never harm a command that does not name them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import AddPlugin, Aworld

GOOD = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("tool", "calculator", "mine", "nowhere:factory", "nowhere:Config")]
"""
BROKEN = {
    "import-error": ("import does_not_exist_anywhere", "ModuleNotFoundError"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "old": ("aworld_api = 99", "plugin API 99"),
    "no-version": ("x = 1", "states no aworld_api"),
    "unknown-hook": (
        "from aworld_cli.host import hookimpl\naworld_api = 1\n@hookimpl\ndef aworld_no_such_hook(): pass",
        "aworld_no_such_hook",
    ),
    "raises-in-hook": (
        "from aworld_cli.host import hookimpl\naworld_api = 1\n@hookimpl\ndef aworld_components(): 1 / 0",
        "ZeroDivisionError",
    ),
    "wrong-record": (
        "from aworld_cli.host import hookimpl\naworld_api = 1\n@hookimpl\ndef aworld_components(): return ['x']",
        "not a Component",
    ),
    "wrong-kind": (GOOD.replace('"tool"', '"tol"'), "of the kind 'tol'; there are model, tool"),
    "wrong-factory": (GOOD.replace("nowhere:factory", "nowhere.factory"), "the factory of the tool 'calculator' is"),
    "class-as-config": (
        GOOD.replace('"nowhere:Config"', "int"),
        "the config of the tool 'calculator' is <class 'int'>",
    ),
    "wrong-name": (GOOD.replace('"calculator"', '"my/tool"'), "'my/tool' is no name for a component"),
    "twice": (GOOD.replace("return [", "return 2 * ["), "it offers two tools called 'calculator'"),
    "wrong-command": (
        "from aworld_cli.host import Command, hookimpl\naworld_api = 1\n@hookimpl\n"
        "def aworld_commands(): return [Command('mine', 'mine', 'nowhere')]",
        "the app of the command 'mine' is 'nowhere', not of the form",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_plugin_costs_one_line(
    name: str, aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Callable[..., Path]
) -> None:
    source, reason = BROKEN[name]
    add_plugin(name, source)
    done = aworld("validate", teacher_recipe())
    assert done.returncode == 0
    assert done.stdout.endswith(": ok\n")
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert f"'{name}'" in lines[0] and reason in lines[0]


def test_help_and_version_survive_a_broken_plugin(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("exits", "raise SystemExit(3)")
    assert "run" in aworld("--help").stdout
    assert aworld("--version").stdout.startswith("aworld ")


def test_printing_on_import_keeps_stdout_clean(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("loud", "print('hello from a plugin')\naworld_api = 1")
    done = aworld("plugins", "--json")
    assert all(json.loads(line) for line in done.stdout.splitlines())
    assert "hello from a plugin" in done.stderr


def test_disabled_plugins_are_not_imported(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("loud", "print('imported')\naworld_api = 1")
    for done in (
        aworld("plugins", "--json", "--disable-plugin", "loud"),
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
    recipe.write_text(recipe.read_text().replace("kind: calculator", "kind: aworld-toolbox/calculator"))
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


def test_nothing_heavy_is_imported(aworld: Aworld, tmp_path: Path, teacher_recipe: Callable[..., Path]) -> None:
    recipe = teacher_recipe()
    script = tmp_path / "modules.py"
    script.write_text(
        "import sys\nfrom aworld_cli.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'ray', 'transformers', 'verl', 'mcp', 'aiohttp', 'playwright', 'openai', 'numpy'}\n"
        "if sys.argv[1] != 'validate':\n    heavy |= {'pydantic_settings', 'dotenv', 'yaml', 'asyncio', 'jinja2'}\n"
        "print('HEAVY', sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    import subprocess
    import sys

    for arguments in (["--help"], ["--version"], ["plugins"], ["validate", str(recipe)]):
        done = subprocess.run(
            [sys.executable, str(script), *arguments], capture_output=True, text=True, check=True, cwd=tmp_path
        )
        assert done.stderr.splitlines()[-1] == "HEAVY []", arguments
