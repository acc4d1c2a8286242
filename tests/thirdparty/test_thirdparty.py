"""A plugin as an outsider would write it from docs/plugins.md, beside AWorld's own wheels in a fresh environment."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scaffold.venvs import Venv, make_venv

ROOT = Path(__file__).parents[2]
WEATHER = Path(__file__).with_name("aworld-weather")
SOURCES = (ROOT, ROOT / "plugins/aworld-toolbox", WEATHER)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Wheels of the core, the toolbox and the outsider's plugin, by distribution."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    for source in SOURCES:
        subprocess.run(command, cwd=source, check=True, capture_output=True, text=True)
    return {path.name.split("-")[0].replace("_", "-"): path for path in folder.glob("*.whl")}


@pytest.fixture(scope="module")
def fresh(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Venv]:
    """An environment in which these wheels are installed, and what they need; nothing of this checkout."""
    venv = make_venv(
        tmp_path_factory.mktemp("fresh") / "venv", ("aworld-cli[test]", "aworld-toolbox", "pip"), without_own=True
    )
    venv.pip_install(*wheels.values())
    yield venv


def plugins(venv: Venv, cwd: Path) -> list[dict[str, str]]:
    lines = venv.run("aworld", "plugins", "--json", cwd=cwd).stdout.splitlines()
    return [json.loads(line) for line in lines]


def test_the_environment_has_our_wheels_and_not_this_checkout(fresh: Venv, tmp_path: Path) -> None:
    script = "import aworld_cli, aworld_toolbox, aworld_weather as w; print(aworld_cli.__file__, w.__file__)"
    for file in fresh.run("python", "-c", script, cwd=tmp_path).stdout.split():
        assert Path(file).is_relative_to(fresh.site)


def test_it_is_listed_with_its_place(fresh: Venv, tmp_path: Path) -> None:
    rows = plugins(fresh, tmp_path)
    assert {row["distribution"] for row in rows} == {"aworld-cli", "aworld-toolbox", "aworld-weather"}
    assert {row["status"] for row in rows} == {"ok"}
    mine = [row for row in rows if row["distribution"] == "aworld-weather" and row["kind"] != "command"]
    assert {(row["kind"], row["name"], row["version"]) for row in mine} == {
        ("environment", "rain", "0.3.0"),
        ("tool", "rain-gauge", "0.3.0"),
        ("model", "rain-clerk", "0.3.0"),
    }
    assert {Path(row["location"]) for row in mine} == {fresh.site}


def test_its_model_tool_and_environment_run_a_recipe(fresh: Venv, tmp_path: Path) -> None:
    shutil.copy(WEATHER / "recipe.yaml", tmp_path)
    done = fresh.run("aworld", "run", "recipe.yaml", "--json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    (stage,) = summary["stages"]
    assert stage["counts"] == {"selected": 40, "correct": 40, "wrong": 0, "limit": 0, "error": 0, "missing": 0}
    assert stage["metrics"]["pass@1"]["value"] == 1
    (run,) = (tmp_path / "runs").iterdir()
    records = [json.loads(line) for line in (run / "stages/01-eval/trajectories.jsonl").read_text().splitlines()]
    assert [turn["tool_calls"] for turn in records[0]["turns"]] == [3, 1, 0]  # three months, one sum, the answer
    assert (run / "weather.txt").read_text() == "eval: 40 of 40 dry\n"  # its event hook was called, once
    versions = json.loads((run / "lock.json").read_text())["distributions"]
    assert versions["aworld-weather"] == "0.3.0"


def test_its_options_count(fresh: Venv, tmp_path: Path) -> None:
    recipe = (WEATHER / "recipe.yaml").read_text().replace("kind: rain-clerk", "kind: rain-clerk, carelessness: 1")
    (tmp_path / "recipe.yaml").write_text(recipe)
    done = fresh.run("aworld", "run", "recipe.yaml", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["stages"][0]["counts"]["wrong"] == 40
    (tmp_path / "recipe.yaml").write_text(recipe.replace("carelessness", "careless"))
    wrong = fresh.run("aworld", "validate", "recipe.yaml", cwd=tmp_path, check=False)
    assert wrong.returncode == 4
    assert "recipe.yaml:3:" in wrong.stderr and "did you mean 'carelessness'?" in wrong.stderr


def test_its_command_and_what_is_shown_of_it(fresh: Venv, tmp_path: Path) -> None:
    assert "Greymoor" in fresh.run("aworld", "weather", cwd=tmp_path).stdout.splitlines()
    assert fresh.run("aworld", "weather", "show", "Greymoor", cwd=tmp_path).stdout.startswith("January\t")
    assert "The stations and their rain" in fresh.run("aworld", "--help", cwd=tmp_path).stdout
    shown = fresh.run("aworld", "plugins", "show", "rain-clerk", cwd=tmp_path).stdout
    assert "carelessness" in shown and "forgets a month" in shown


def test_it_passes_its_own_tests(fresh: Venv, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "recipe.yaml", "tests"):
        source = WEATHER / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    done = fresh.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wheel_of_the_core_writes_plugins_too(fresh: Venv, wheels: dict[str, Path], tmp_path: Path) -> None:
    from aworld_cli.scaffold import name_plugin, render

    templates = ROOT / "aworld_cli/scaffold/templates"
    there = {path.relative_to(ROOT).as_posix() for path in templates.rglob("*") if path.is_file()}
    assert there <= set(zipfile.ZipFile(wheels["aworld-cli"]).namelist())
    target = fresh.run("aworld", "plugins", "new", "agent", "planner", cwd=tmp_path).stdout.strip()
    written = {
        path.relative_to(tmp_path / target).as_posix(): path.read_text()
        for path in (tmp_path / target).rglob("*")
        if path.is_file()
    }
    assert written == render(name_plugin("agent", "planner"))


def test_uninstalled_it_is_gone(fresh: Venv, wheels: dict[str, Path], tmp_path: Path) -> None:
    fresh.run("python", "-m", "pip", "uninstall", "--yes", "aworld-weather", cwd=tmp_path)
    try:
        assert {row["distribution"] for row in plugins(fresh, tmp_path)} == {"aworld-cli", "aworld-toolbox"}
        done = fresh.run("aworld", "validate", WEATHER / "recipe.yaml", cwd=tmp_path, check=False)
        assert done.returncode == 5
        assert "rain-clerk" in done.stderr and "Traceback" not in done.stderr
    finally:
        fresh.pip_install(wheels["aworld-weather"])
