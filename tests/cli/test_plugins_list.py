"""`aworld plugins`: each status with its reason, for people and for scripts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from aworld_cli.cli.plugins_table import clean, table
from tests.conftest import AddPlugin, Aworld

KEYS = ["kind", "name", "summary", "plugin", "distribution", "version", "location", "editable", "api"]
KEYS += ["status", "reason", "seconds"]
OFFER = """
from aworld_cli.host import Command, Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component({component})]
@hookimpl
def aworld_commands():
    return [Command({command})]
"""
TOOL = '"tool", {!r}, "mine", "{}:factory", "{}:Config"'


def offer(
    name: str = "abacus", command: str = "beads", module: str = "json", app: str = "nowhere:app", summary: str = "Beads"
) -> str:
    return OFFER.format(component=TOOL.format(name, module, module), command=f"{command!r}, {summary!r}, {app!r}")


def rows_of(done: subprocess.CompletedProcess[str], plugin: str) -> list[dict[str, object]]:
    return [row for row in map(json.loads, done.stdout.splitlines()) if row["plugin"] == plugin]


def test_the_list_is_the_default_and_has_all_keys(aworld: Aworld) -> None:
    done = aworld("plugins", "--json")
    assert done.returncode == 0 and done.stderr == ""
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(list(row) == KEYS for row in rows)
    assert {row["status"] for row in rows} == {"ok"}
    (openai,) = [row for row in rows if row["kind"] == "model" and row["distribution"] == "aworld-openai"]
    root = Path(__file__).parents[2]
    assert openai["editable"] is True and Path(openai["location"]) == root / "plugins" / "aworld-openai"
    assert openai["api"] == 1 and openai["version"]
    again = [json.loads(line) for line in aworld("plugins", "list", "--json").stdout.splitlines()]
    assert [{**row, "seconds": 0} for row in again] == [{**row, "seconds": 0} for row in rows]


def test_the_list_for_people(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("bad", "import does_not_exist_anywhere")
    add_plugin("loud", offer(summary="Counts \x1b[31m\nbeads"))
    done = aworld("plugins", "--disable-plugin", "openai")
    assert done.returncode == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "tool abacus mine aworld-loud ok" in lines
    assert "command beads Counts [31m beads aworld-loud ok" in lines
    assert any(line.startswith("bad aworld-bad 1.0 /") and "failed: ModuleNotFoundError" in line for line in lines)
    assert any(line.startswith("openai aworld-openai") and line.endswith("disabled by request") for line in lines)
    assert "`aworld plugins --check` loads all" in done.stderr.splitlines()[-1]
    assert max(map(len, done.stdout.splitlines())) <= 200


def test_a_plugin_that_offers_nothing_is_a_row_of_its_own(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin(
        "listens", "from aworld_cli.host import hookimpl\naworld_api = 1\n@hookimpl\ndef aworld_run_started(): 0"
    )
    add_plugin("old", "aworld_api = 0")
    add_plugin("bad", "import does_not_exist_anywhere")
    done = aworld("plugins", "--json")
    (row,) = rows_of(done, "listens")
    assert (row["kind"], row["name"], row["summary"]) == ("plugin", "listens", "hooks: aworld_run_started")
    (row,) = rows_of(done, "old")
    assert (row["kind"], row["api"], row["status"]) == ("plugin", 0, "incompatible")
    (row,) = rows_of(done, "bad")
    assert (row["kind"], row["api"], row["status"]) == ("plugin", None, "failed")


def test_what_its_name_alone_does_not_reach_is_shadowed(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("mine", offer("calculator", "run"))
    add_plugin("other", offer("abacus", "models"))
    done = aworld("plugins", "--json")
    assert done.returncode == 0
    reasons = {
        (row["kind"], row["distribution"]): row["reason"]
        for row in map(json.loads, done.stdout.splitlines())
        if row["status"] == "shadowed"
    }
    assert reasons == {
        ("tool", "aworld-mine"): "aworld-toolbox also offers it; write aworld-mine/calculator",
        ("tool", "aworld-toolbox"): "aworld-mine also offers it; write aworld-toolbox/calculator",
        ("command", "aworld-mine"): "aworld's own command 'run' goes before it; its author must call it otherwise",
        ("command", "aworld-other"): "aworld-local offers it first; write aworld --disable-plugin local models",
    }
    # what the reasons say is so
    assert "own" not in aworld("run", "--help").stderr
    assert "aworld-other" in aworld("--disable-plugin", "local", "models").stderr


def test_the_second_copy_of_a_plugin_is_shadowed(
    aworld: Aworld, add_plugin: AddPlugin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_plugin("mine", offer())
    first, second = tmp_path / "site", tmp_path / "copy"
    second.mkdir()
    info = second / "aworld_mine-0.9.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[aworld]\nmine = raises_if_imported\n")
    monkeypatch.setenv("PYTHONPATH", f"{first}:{second}")
    done = aworld("plugins", "--json")
    assert done.stderr == ""
    (row,) = [row for row in rows_of(done, "mine") if row["version"] == "0.9"]
    assert (row["kind"], row["status"], row["location"]) == ("plugin", "shadowed", str(second))
    assert row["reason"] == f"aworld_mine is also in {first / 'aworld_mine-1.0.dist-info'}"
    assert [row["status"] for row in rows_of(done, "mine") if row["version"] == "1.0"] == ["ok", "ok"]


def test_check_loads_all(aworld: Aworld, add_plugin: AddPlugin) -> None:
    code = "\nimport typer\nfrom pydantic import BaseModel\nclass Config(BaseModel): pass\n"
    code += "def factory(config): pass\napp = typer.Typer()\n"
    add_plugin("good", offer("good", "good", "test_plugin_good", "test_plugin_good:app") + code)
    done = aworld("plugins", "--check", "--json")
    assert done.returncode == 0 and done.stderr == ""
    add_plugin("bad", offer("abacus", "beads", "json", "json:dumps"))
    add_plugin("gone", "import does_not_exist_anywhere")
    add_plugin("off", "import does_not_exist_anywhere")
    done = aworld("plugins", "--check", "--json", "--disable-plugin", "off")
    assert done.returncode == 1
    statuses = {(row["kind"], row["name"]): row["status"] for row in map(json.loads, done.stdout.splitlines())}
    failed = {key for key, status in statuses.items() if status == "failed"}
    assert failed == {("tool", "abacus"), ("command", "beads"), ("plugin", "gone")}
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 3
    assert any("json:Config" in line for line in errors)
    assert any("json:dumps is not a Typer app" in line for line in errors)
    human = aworld("plugins", "list", "--check", "--disable-plugin", "off")
    assert human.returncode == 1
    assert [line for line in human.stderr.splitlines() if line.startswith("error: ")] == errors
    assert "loads all" not in human.stderr


def test_options_before_a_sub_command_are_a_usage_error(aworld: Aworld) -> None:
    done = aworld("plugins", "--json", "show", "calculator")
    assert done.returncode == 2 and "after the command's name" in done.stderr


def test_tables_fold_and_leave_out_what_is_empty() -> None:
    lines = list(table(("a", "b", "c"), [("x", "", "one two three four five six"), ("y", "", "z")], wide=20))
    assert lines == ["a  c", "-  -----------------", "x  one two three", "   four five six", "y  z"]
    assert list(table(("a",), [], wide=20)) == []
    assert all(len(line) <= 60 for line in table(("a", "b"), [("x" * 300, "y" * 90)], wide=60))
    assert clean("a\x1b[2J\r\nb\t c\u202e") == "a [2J b c"
