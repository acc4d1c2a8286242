"""`aworld config`: every value in effect, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Aworld

RECIPE = """\
extends: base.yaml
model:
  kind: openai
  model: m
  api_key: ${env:KEY}
  headers: {Authorization: "Bearer ${env:KEY}", X-Title: tests}
environment: {kind: arithmetic, digits: 2}
stages:
  - eval: {split: test, tasks: 1}
  - train: {kind: verl, steps: 1}
"""
BASE = "aworld: 1\nname: base\nsampling: {top_p: 0.5}\ntools: [{kind: calculator}]\n"
CONFIG = "max_errors = 3\n\n[recipe.runtime]\nconcurrency = 9\nattempts = 2\n"


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AWORLD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEY", "hidden-key-1")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(CONFIG)
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "own.yaml").write_text(RECIPE)
    return tmp_path / "own.yaml"


def rows(text: str) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in map(json.loads, text.splitlines())}


def test_settings_and_their_origins(recipe: Path, aworld: Aworld, tmp_path: Path) -> None:
    variables = {"aworld_runs_dir": "/r", "AWORLD_RECIPE__SEED": "4", "AWORLD_RECIPE__MODEL__API_KEY": "hidden"}
    done = aworld("config", "--json", "--disable-plugin", "verl", env=variables)
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    file = f"{tmp_path}/home/config.toml"
    assert {key: (row["value"], row["layer"], row["origin"]) for key, row in found.items()} == {
        "runs_dir": ("/r", "variable", "aworld_runs_dir"),
        "disable_plugins": (["verl"], "flag", "--disable-plugin"),
        "max_errors": (3, "config", f"{file}:1:1"),
        "grace": (30.0, "default", "default"),
        "config.toml": (file, "default", "read"),
        "cache": (f"{tmp_path}/home/cache", "default", "fetched models"),
        "recipe.runtime.concurrency": (9, "config", f"{file}:4:1"),
        "recipe.runtime.attempts": (2, "config", f"{file}:5:1"),
        "recipe.seed": ("4", "variable", "AWORLD_RECIPE__SEED"),
        "recipe.model.api_key": ("**********", "variable", "AWORLD_RECIPE__MODEL__API_KEY"),
    }


def test_the_values_of_a_recipe_and_their_origins(recipe: Path, aworld: Aworld, tmp_path: Path) -> None:
    done = aworld("config", "own.yaml", "--json", "--set", "seed=7", env={"AWORLD_RECIPE__RUNTIME__ATTEMPTS": "5"})
    assert done.returncode == 0, done.stderr
    assert "hidden" not in done.stdout + done.stderr
    found = rows(done.stdout)
    expected = {
        "name": ("base", "recipe", "base.yaml:2:1"),
        "seed": (7, "flag", "--set seed"),
        "sampling.top_p": (0.5, "recipe", "base.yaml:3:12"),
        "sampling.temperature": (1.0, "default", "default"),
        "model.model": ("m", "recipe", "own.yaml:4:3"),
        "model.api_key": ("${env:KEY}", "recipe", "own.yaml:5:3"),
        "model.headers.Authorization": ("Bearer ${env:KEY}", "recipe", "own.yaml:6:13"),
        "model.headers.X-Title": ("tests", "recipe", "own.yaml:6:49"),
        "agent.kind": ("react", "default", "default"),
        "tools[0].kind": ("calculator", "recipe", "base.yaml:4:10"),
        "runtime.concurrency": (9, "config", f"{tmp_path}/home/config.toml:4:1"),
        "runtime.attempts": (5, "variable", "AWORLD_RECIPE__RUNTIME__ATTEMPTS"),
        "stages[0].eval.tasks": (1, "recipe", "own.yaml:9:25"),
        "stages[0].eval.k[0]": (1, "default", "default"),
        "stages[0].eval.model": (None, "default", "default"),
        "stages[1].train.kind": ("verl", "recipe", "own.yaml:10:13"),
        "stages[1].train.split": ("train", "default", "default"),
        "stages[1].train.steps": (1, "recipe", "own.yaml:10:25"),
        "reporters": ([], "default", "default"),
    }
    assert {
        key: (row["value"], row["layer"], row["origin"]) for key, row in found.items() if key in expected
    } == expected
    assert found["agent.max_turns"]["origin"].startswith("default of react (aworld-cli ")
    assert found["stages[1].train.algorithm"]["origin"].startswith("default of verl (aworld-verl ")
    assert (found["name"]["file"], found["name"]["line"], found["name"]["column"]) == ("base.yaml", 2, 1)
    assert "file" not in found["seed"] and found["seed"]["scope"] == "recipe"


def test_the_table_and_one_part_of_it(recipe: Path, aworld: Aworld) -> None:
    done = aworld("config", "own.yaml", "--key", "sampling")
    assert [line.split() for line in done.stdout.splitlines() if "sampling" in line] == [
        ["sampling.temperature", "1.0", "default"],
        ["sampling.top_p", "0.5", "base.yaml:3:12"],
        ["sampling.max_tokens", "512", "default"],
    ]
    assert "model" not in done.stdout and "\x1b" not in done.stdout
    done = aworld("config", "own.yaml", "--key", "samplin")
    assert done.returncode == 2 and "did you mean 'sampling'?" in done.stderr


def test_mistakes(recipe: Path, aworld: Aworld, tmp_path: Path) -> None:
    assert aworld("config", "--set", "seed=1").returncode == 2
    done = aworld("config", "own.yaml", "--set", "seed=x")
    assert (done.returncode, done.stdout) == (4, "") and "--set seed: seed: a whole number" in done.stderr
    (tmp_path / "home" / "config.toml").write_text("max_errors = 1\nmax_error = 2\nrecipes = 3")
    done = aworld("config")
    assert done.returncode == 2
    assert "config.toml:2:1: max_error: unknown key; did you mean 'max_errors'?" in done.stderr
    assert "config.toml:3:1: recipes: unknown key; did you mean 'recipe'?" in done.stderr
