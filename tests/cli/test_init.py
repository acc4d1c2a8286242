"""`aworld init` writes recipes that are good at once, and tells what comes next; it takes nothing away."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
import yaml

from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.loading import load_plan
from aworld_cli.recipe.schema_file import MODELINE, SCHEMA_FILE
from aworld_cli.starters import STARTERS
from aworld_cli.starters.writing import next_commands, run_name
from tests.conftest import AddPlugin, Aworld

ROOT = Path(__file__).parents[2]
DUMMIES = {"OPENAI_API_KEY": "sk-dummy"}
CASES = list(STARTERS)
#: The starters that are recipes of ours under another name.
TWINS = {"quickstart": "quickstart", "openai": "openai-rollout", "local": "smollm2-rollout"}


def test_every_starter_validates_as_it_is_written(aworld: Aworld, tmp_path: Path) -> None:
    for case in CASES:
        done = aworld("init", case, env={"OPENAI_API_KEY": ""})
        assert (done.returncode, done.stdout) == (0, f"{case}.yaml\n")
        commands = [line.strip() for line in done.stderr.partition("next:\n")[2].splitlines()]
        first = [*(f"export {name}=..." for name in STARTERS[case].variables), *STARTERS[case].before]
        assert commands == [*first, f"aworld validate {case}.yaml", f"aworld run {case}.yaml"]
    files = {f"{case}.yaml" for case in CASES} | {file for case in CASES for file in STARTERS[case].files}
    assert {path.name for path in tmp_path.iterdir()} == {*files, SCHEMA_FILE}
    checked = aworld("validate", *(f"{case}.yaml" for case in CASES), env=DUMMIES)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert checked.stdout.splitlines() == [f"{case}.yaml: ok" for case in CASES]


@pytest.mark.parametrize("case", CASES)
def test_a_starter_is_commented_and_says_what_it_needs(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-dummy")
    starter = STARTERS[case]
    lines = starter.text().splitlines()
    assert lines[0] == MODELINE
    assert sum("# " in line for line in lines) >= 10
    assert f"#   aworld run {case}.yaml" in lines
    assert f"name: {case}" in [line.partition(" #")[0].rstrip() for line in lines]
    plan = load_plan(ROOT / "aworld_cli" / "starters" / f"{case}.yaml", Registry(load_plugins()))
    stages = [chosen for stage in plan.stages for chosen in (stage.model, stage.trainer) if chosen is not None]
    chosen = [plan.model, plan.agent, plan.environment, plan.runtime, *plan.tools, *stages]
    used = {item.registered.plugin.distribution for item in chosen}
    assert used - {"aworld-cli"} == set(starter.plugins)


@pytest.mark.parametrize(("case", "recipe"), TWINS.items())
def test_a_starter_does_what_our_recipe_does(case: str, recipe: str) -> None:
    ours = yaml.safe_load((ROOT / "recipes" / f"{recipe}.yaml").read_text())
    assert yaml.safe_load(STARTERS[case].text()) == {**ours, "name": case}


@pytest.mark.usefixtures("no_strays")
@pytest.mark.parametrize("case", ["rollout", "tools"])
def test_a_starter_runs(case: str, aworld: Aworld, tmp_path: Path) -> None:
    made = aworld("init", case, "--output", "of mine/My First.yaml", "--json")
    assert made.returncode == 0, made.stderr
    said = json.loads(made.stdout)
    assert said["next"][-1] == "aworld run 'of mine/My First.yaml'" and said["recipe"] == "of mine/My First.yaml"
    done = aworld("run", said["recipe"], "--json", "--set", "stages.0.tasks=6")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["run"].endswith("-my-first")
    (stage,) = summary["stages"]
    assert stage["counts"]["selected"] == (24 if case == "rollout" else 6)
    assert stage["counts"]["correct"] >= (12 if case == "rollout" else 6)
    assert stage["metrics"]["tool_use"]["value"] > 0


def test_without_a_case_they_are_listed(aworld: Aworld) -> None:
    done = aworld("init")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == CASES
    rows = [json.loads(line) for line in aworld("init", "--json").stdout.splitlines()]
    assert [row["case"] for row in rows] == CASES
    assert rows[CASES.index("openai")]["variables"] == ["OPENAI_API_KEY"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["quikstart"], "there is no case called 'quikstart'; did you mean 'quickstart'?"),
        (["rollout", "--output", "recipe.txt"], "recipe.txt: a recipe's file ends in .yaml, as in recipe.yaml"),
        (["rollout", "--output", "absent/"], "absent: a recipe's file ends in .yaml"),
        (["--force"], "say which case: quickstart, "),
    ],
)
def test_a_wrong_command_line_is_one_line(arguments: list[str], said: str, aworld: Aworld, tmp_path: Path) -> None:
    done = aworld("init", *arguments)
    assert done.returncode == 2 and said in done.stderr and len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", ["tools.yaml", "server.py"])
def test_what_is_there_stays_unless_forced(there: str, aworld: Aworld, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    done = aworld("init", "tools")
    assert done.returncode == 2
    text = f"error: {there} is there already; write elsewhere by --output, or over it by --force\n"
    assert done.stderr == text
    assert [path.name for path in tmp_path.iterdir()] == [there] and (tmp_path / there).read_text() == "mine"
    assert aworld("init", "tools", "--force").returncode == 0
    assert (tmp_path / there).read_text() != "mine"


def test_a_schema_of_ours_is_renewed_and_another_file_of_its_name_stays(aworld: Aworld, tmp_path: Path) -> None:
    schema = tmp_path / SCHEMA_FILE
    schema.write_text('{"title": "AWorld recipe"}')
    assert aworld("init", "rollout").returncode == 0
    assert "$defs" in json.loads(schema.read_text())
    schema.write_text("{}")
    done = aworld("init", "openai", env=DUMMIES)
    assert done.returncode == 0 and "warning: recipe.schema.json is no schema of `aworld schema`" in done.stderr
    assert schema.read_text() == "{}" and "export" not in done.stderr


def test_a_place_that_cannot_be_written_to(aworld: Aworld, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = aworld("init", "rollout", "--output", "file/r.yaml")
    assert done.returncode == 6
    assert done.stderr.startswith("error: file/r.yaml: cannot be written: ") and len(done.stderr.splitlines()) == 1
    done = aworld("init", "rollout", "--output", f"{'x' * 300}.yaml")
    assert done.returncode == 6 and len(done.stderr.splitlines()) == 1
    if os.geteuid() != 0:
        tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
        assert aworld("init", "rollout").returncode == 6
        tmp_path.chmod(stat.S_IRWXU)


def test_what_this_machine_lacks_is_told_first() -> None:
    commands = next_commands(STARTERS["openai"], Path("o.yaml"), {"aworld-toolbox"}, {"OPENAI_API_KEY": ""})
    assert commands == [
        "aworld plugins install aworld-arithmetic aworld-openai",
        "export OPENAI_API_KEY=...",
        "aworld validate o.yaml",
        "aworld run o.yaml",
    ]
    assert next_commands(STARTERS["openai"], Path("o.yaml"), STARTERS["openai"].plugins, DUMMIES) == commands[2:]


@pytest.mark.parametrize(
    ("file", "name"),
    [("a.yaml", "a"), ("My Run.yaml", "my-run"), ("__x__.yml", "x"), ("Übung 2.yaml", "bung-2"), ("äö.yaml", "case")],
)
def test_a_run_is_named_as_its_file(file: str, name: str) -> None:
    assert run_name(Path(file), "case") == name


def test_a_broken_plugin_costs_a_line(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("broken", "raise RuntimeError('bad day')")
    done = aworld("init", "rollout")
    assert done.returncode == 0 and done.stdout == "rollout.yaml\n"
    assert sum(line.startswith("warning: ") for line in done.stderr.splitlines()) == 1
