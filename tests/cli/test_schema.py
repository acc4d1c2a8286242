"""`aworld schema` writes one JSON, the same each time, of the plugins that are installed and loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import AddPlugin, Aworld

DICE = """\
from aworld_cli.host import Component, hookimpl
from pydantic import BaseModel, ConfigDict, Field

aworld_api = 1


class DiceConfig(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sides: int = Field(6, ge=2, description="Sides of a die.")


@hookimpl
def aworld_components():
    def offer(name, config):
        return Component("environment", name, "Dice", "test_plugin_dice:x", f"test_plugin_dice:{config}")

    return [offer("dice", "DiceConfig"), offer("gone", "NoConfig")]
"""


def test_stdout_is_one_json_the_same_each_time(aworld: Aworld) -> None:
    done = aworld("schema")
    assert (done.returncode, done.stderr) == (0, "")
    schema = json.loads(done.stdout)
    Draft202012Validator.check_schema(schema)
    assert '"calculator"' in done.stdout
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert aworld("schema", env={"PYTHONHASHSEED": "7"}).stdout == done.stdout


def test_a_third_partys_component_is_in_it_and_one_that_is_broken_costs_a_line(
    aworld: Aworld, add_plugin: AddPlugin
) -> None:
    add_plugin("dice", DICE)
    add_plugin("broken", "raise SystemExit(3)")
    done = aworld("schema")
    assert done.returncode == 0
    failed, left_out = done.stderr.splitlines()
    assert failed.startswith("warning: plugin 'broken' of aworld-broken") and "SystemExit" in failed
    assert left_out.startswith("warning: environment 'gone' of aworld-dice") and left_out.endswith("; it is left out")
    schema = json.loads(done.stdout)
    sides = schema["$defs"]["aworld-dice.environment.dice"]["properties"]["sides"]
    assert (sides["minimum"], sides["default"], sides["description"]) == (2, 6, "Sides of a die.")
    recipe = {"aworld": 1, "name": "x", "model": {"kind": "scripted", "replies": ["1"]}}
    recipe |= {"environment": {"kind": "dice", "sides": 8}, "stages": [{"eval": {"split": "test"}}]}
    validator = Draft202012Validator(schema)
    assert validator.is_valid(recipe)
    assert not validator.is_valid({**recipe, "environment": {"kind": "dice", "sides": 1}})
    assert not validator.is_valid({**recipe, "environment": {"kind": "gone"}})


def test_a_plugin_that_is_not_loaded_is_not_in_it(aworld: Aworld) -> None:
    assert '"calculator"' not in aworld("schema", "--disable-plugin", "toolbox").stdout
    done = aworld("--no-plugins", "schema")
    assert done.returncode == 0 and '"calculator"' not in done.stdout and '"stdio"' in done.stdout
    Draft202012Validator.check_schema(json.loads(done.stdout))


def test_it_goes_to_a_file_and_replaces_itself_only(aworld: Aworld, tmp_path: Path) -> None:
    for _ in range(2):
        done = aworld("schema", "--no-plugins", "--output", "deep/recipe.schema.json")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote deep/recipe.schema.json\n")
    assert json.loads((tmp_path / "deep/recipe.schema.json").read_text())["title"] == "AWorld recipe"
    (tmp_path / "recipe.yaml").write_text("aworld: 1\n")
    for other in ("recipe.yaml", "deep"):
        done = aworld("schema", "--output", other)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith(f"error: {other}: is there already and is no recipe schema")
    assert (tmp_path / "recipe.yaml").read_text() == "aworld: 1\n"


def test_a_place_that_cannot_be_written_to(aworld: Aworld, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = aworld("schema", "--output", "file/recipe.schema.json")
    assert done.returncode == 6 and len(done.stderr.splitlines()) == 1
    assert "file/recipe.schema.json: cannot be written: " in done.stderr
    done = aworld("schema", "--output", "x" * 300)
    assert done.returncode == 6 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["schema", "init"])
def test_the_commands_module_imports_nothing_heavy(command: str) -> None:
    code = f"import sys, aworld_cli.cli.{command}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "yaml", "jsonschema", "asyncio", "mcp", "rich.table"} & set(loaded)
