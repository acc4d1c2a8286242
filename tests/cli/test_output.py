"""What is written reaches any standard output, and steers no terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import AddPlugin, Aworld

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
UTF8 = {"PYTHONIOENCODING": "utf-8"}
PLUGIN = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("tool", "odd", "grüßt \\u2192", "nowhere:x", "nowhere:y")]
"""


def test_an_ascii_terminal_gets_escapes(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("odd", PLUGIN)
    done = aworld("plugins", env=ASCII)
    assert done.returncode == 0 and r"gr\xfc\xdft \u2192" in done.stdout
    done = aworld("plugins", "--json", env=ASCII)
    assert done.returncode == 0
    assert "grüßt \u2192" in [json.loads(line)["summary"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("env", [ASCII, UTF8], ids=["ascii", "utf-8"])
def test_a_file_name_that_is_no_text(
    env: dict[str, str], aworld: Aworld, teacher_recipe: Callable[..., Path], tmp_path: Path
) -> None:
    name = "odd\udcff.yaml"
    try:
        teacher_recipe().rename(tmp_path / name)
    except OSError:
        pytest.skip("file names are text here")
    for command in (["validate"], ["validate", "--json"], ["config"], ["run", "--dry-run"]):
        done = aworld(*command, name, env=env)
        assert done.returncode == 0, (command, done.stderr)
    assert r"odd\udcff.yaml: ok" in aworld("validate", name, env=env).stdout


def test_what_a_recipe_says_does_not_steer_the_terminal(
    aworld: Aworld, teacher_recipe: Callable[..., Path], tmp_path: Path
) -> None:
    recipe = teacher_recipe()
    recipe.write_text(recipe.read_text().replace("split: train", r'split: "\e[2J\n\x9b"'))
    done = aworld("config", recipe)
    assert done.returncode == 0 and r'"\u001b[2J\n\u009b"' in done.stdout
    recipe.write_text(recipe.read_text() + '"\\e[31m": 1\n')
    done = aworld("validate", recipe)
    assert done.returncode == 4 and r"\u001b[31m: unknown key" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr
