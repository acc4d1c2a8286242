"""`aworld validate`: all mistakes of all files, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Aworld

Recipe = Callable[..., Path]


@pytest.fixture
def recipes(tmp_path: Path, teacher_recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AWORLD_HOME", str(tmp_path / "home"))
    good = teacher_recipe(tasks=1, name="good.yaml")
    (tmp_path / "bad.yaml").write_text(good.read_text().replace("name:", "nam:").replace("seed: 0", "seed: 0\nseed: 1"))
    (tmp_path / "split.yaml").write_text(good.read_text().replace("split: train", "split: trian"))
    (tmp_path / "plugin.yaml").write_text(good.read_text().replace("kind: calculator", "kind: nothing-like-it"))
    (tmp_path / "child.yaml").write_text("extends: bad.yaml\nsampling: {top_p: 2}\n")
    return tmp_path


def test_every_file_is_checked_and_the_worst_decides(recipes: Path, aworld: Aworld) -> None:
    done = aworld("validate", "good.yaml", "absent.yaml", "bad.yaml", "plugin.yaml", "good.yaml")
    assert done.returncode == 5
    assert done.stdout.splitlines() == ["good.yaml: ok", "good.yaml: ok"]
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == [
        "absent.yaml",
        "bad.yaml:1:1",
        "bad.yaml:2:1",
        "bad.yaml:4:1",
        "plugin.yaml:5:10",
    ]
    assert aworld("validate", "good.yaml").returncode == 0


def test_json(recipes: Path, aworld: Aworld) -> None:
    done = aworld("validate", "--json", "good.yaml", "absent.yaml", "child.yaml", "split.yaml", "plugin.yaml")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["recipe"], row["ok"], row["code"]) for row in found] == [
        ("good.yaml", True, 0),
        ("absent.yaml", False, 4),
        ("child.yaml", False, 4),
        ("split.yaml", False, 4),
        ("plugin.yaml", False, 5),
    ]
    assert (done.returncode, done.stderr) == (5, "")
    places = [[(p["file"], p["line"], p["column"], p["key"]) for p in row["problems"]] for row in found]
    assert places == [
        [],
        [("absent.yaml", None, None, None)],
        [
            ("child.yaml", 1, 1, "name"),
            ("child.yaml", 2, 12, "sampling.top_p"),
            ("bad.yaml", 2, 1, "nam"),
            ("bad.yaml", 4, 1, "seed"),
        ],
        [("split.yaml", 9, 15, "stages[0].rollout.split")],
        [("plugin.yaml", 5, 10, "tools[0]")],
    ]
    assert found[2]["problems"][1]["message"] == "must be at most 1, got 2"
    assert "did you mean 'train'?" in found[3]["problems"][0]["message"]


def test_a_setting_is_checked_for_each_file(recipes: Path, aworld: Aworld) -> None:
    done = aworld("validate", "--json", "good.yaml", "good.yaml", "--set", "seed=x", env={"AWORLD_RECIPE__NAME": "A B"})
    first, second = (json.loads(line) for line in done.stdout.splitlines())
    assert first == second and done.returncode == 4
    assert [(problem["file"], problem["line"], problem["key"]) for problem in first["problems"]] == [
        ("AWORLD_RECIPE__NAME", None, "name"),
        ("--set seed", None, "seed"),
    ]
    done = aworld("validate", "--json", "good.yaml", "--set", "seed")
    assert done.returncode == 2
    assert json.loads(done.stdout)["problems"][0]["message"].startswith("--set takes key.path=value")


def test_a_run_keeps_the_files_it_was_given_and_the_lock_what_they_come_to(recipes: Path, aworld: Aworld) -> None:
    base, own = (recipes / "good.yaml").read_text(), "extends: good.yaml\nname: child\n"
    (recipes / "child.yaml").write_text(own)
    (recipes / "home").mkdir()
    (recipes / "home" / "config.toml").write_text("[recipe.sampling]\ntop_p = 0.5")
    done = aworld("run", "child.yaml", "--set", "stages.eval.samples=1", "--set", "stages.eval.k=[1]")
    assert done.returncode == 0, done.stderr
    (run,) = (recipes / "runs").iterdir()
    assert (run / "recipe.yaml").read_text() == own and (run / "recipe.d" / "01-good.yaml").read_text() == base
    recipe = json.loads((run / "lock.json").read_text())["recipe"]
    assert recipe["name"] == "child" and recipe["sampling"] == {"top_p": 0.5} and "extends" not in recipe
    assert recipe["stages"][1]["eval"]["samples"] == 1
    (recipes / "good.yaml").unlink()
    again = aworld("run", "--resume", run, env={"AWORLD_RECIPE__SEED": "9"})  # it is resolved: no layer counts now
    assert again.returncode == 0, again.stderr
