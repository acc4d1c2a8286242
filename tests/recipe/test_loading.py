"""Recipe errors name the place, the key and the mend; all of a file's errors come at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from aworld_cli.errors import PluginError, RecipeError, UsageError
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.loading import load_plan
from aworld_cli.recipe.plan import Plan

GOOD = """\
aworld: 1
name: test
model: {kind: arithmetic-teacher}
tools: [{kind: calculator}]
environment:
  kind: arithmetic
  digits: 2
stages:
  - rollout: {split: train, tasks: 4}
  - sft:
      from: rollout
      steps: 3
  - eval: {split: test, tasks: 4, samples: 4, k: [1, 4]}
"""


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry(load_plugins())


def plan(text: str, tmp_path: Path, registry: Registry, settings: list[str] | None = None) -> Plan:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    return load_plan(path, registry, settings or [])


def test_good_recipe(tmp_path: Path, registry: Registry) -> None:
    made = plan(GOOD, tmp_path, registry)
    assert [stage.name for stage in made.stages] == ["rollout", "sft", "eval"]
    assert made.stages[0].directory == "01-rollout"
    assert made.recipe.sampling.temperature == 1.0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: test", "nmae: test", "r.yaml:2:1: nmae: unknown key; did you mean 'name'?"),
        ("digits: 2", "digit: 2", "r.yaml:7:3: environment.digit: unknown key; did you mean 'digits'?"),
        ("digits: 2", "digits: two", "r.yaml:7:3: environment.digits: a whole number is expected, got 'two'"),
        ("aworld: 1", "aworld: 2", "r.yaml:1:1: aworld: 1 is expected, got 2; a newer aworld-cli may read it"),
        ("- rollout:", "- rolout:", "r.yaml:9:5: stages[0].rolout: unknown stage; did you mean 'rollout'?"),
        ("from: rollout", "from: nowhere", "r.yaml:11:7: stages[1].sft.from: no earlier stage"),
        ("steps: 3", "step: 3", "r.yaml:12:7: stages[1].sft.step: unknown key; did you mean 'steps'?"),
        ("k: [1, 4]", "k: [1, 8]", "r.yaml:13:5: stages[2].eval: every k must lie between 1 and samples (4)"),
        ("samples: 4", "samples: 0", "r.yaml:13:35: stages[2].eval.samples: must be at least 1, got 0"),
        ("steps: 3", "steps: 3\n      keep: __import__('os')", "stages[1].sft.keep: \"__import__('os')\" is not"),
        ("digits: 2", "digits: 2\n  digits: 3", "r.yaml:8:3: environment.digits: the key 'digits' stands here twice"),
        ("digits: 2", "digits: ${env:AWORLD_UNSET_X}", "environment.digits: the environment variable AWORLD_UNSET_X"),
        ("digits: 2", "digits: ${env:X", "r.yaml:7:3: environment.digits: not a reference: write ${env:NAME}"),
        ("digits: 2", "digits: true", "r.yaml:7:3: environment.digits: a whole number is expected, got true"),
        ("aworld: 1", "aworld: true", "r.yaml:1:1: aworld: 1 is expected, got true"),
        ("tasks: 4", "tasks: true", "r.yaml:9:29: stages[0].rollout.tasks: a whole number is expected, got true"),
        ("steps: 3", "steps: 3\n      keep: turn <= 2", "stages[1].sft.keep: records have no field 'turn'; did you"),
        (
            "digits: 2",
            "digits: !!int abc",
            "r.yaml:7:11: environment.digits: what stands after !!int is not of that type",
        ),
        ("digits: 2", "digits: !!float abc", "r.yaml:7:11: environment.digits: what stands after !!float"),
        ("digits: 2", "digits: !!bool abc", "r.yaml:7:11: environment.digits: what stands after !!bool"),
        ("digits: 2", "digits: !!null abc", "r.yaml:7:11: environment.digits: what stands after !!null"),
        ("digits: 2", f"digits: {'1' * 5000}", "r.yaml:7:11: environment.digits: a number of more than 300 digits"),
        ("digits: 2", f"digits: 0x{'f' * 300}", "r.yaml:7:11: environment.digits: a number of more than 300 digits"),
        ("kind: calculator", "kind: [calculator]", "r.yaml:4:10: tools[0].kind: text is expected, got a list"),
        ("kind: calculator", "kind: {a: 1}", "r.yaml:4:10: tools[0].kind: text is expected, got a mapping"),
        ("name: test", 'name: "\\ud800"', "r.yaml:2:7: name: half of a surrogate pair"),
        ("name: test", 'name: "\\UFFFFFFFF"', "r.yaml:2:10: not valid YAML: an escape that is no character"),
        ("digits: 2", f"x: {'[' * 150}{']' * 150}", "nested more than 100 deep"),
    ],
)
def test_bad_recipe(old: str, new: str, expected: str, tmp_path: Path, registry: Registry) -> None:
    assert old in GOOD
    with pytest.raises(RecipeError) as caught:
        plan(GOOD.replace(old, new, 1), tmp_path, registry)
    assert expected in str(caught.value)


def test_all_errors_at_once(tmp_path: Path, registry: Registry) -> None:
    bad = GOOD.replace("digits: 2", "digit: 2").replace("samples: 4", "sample: 4").replace("name:", "nam:")
    with pytest.raises(RecipeError) as caught:
        plan(bad, tmp_path, registry)
    text = str(caught.value)
    assert "r.yaml:2:1: nam:" in text and "stages[2].eval.sample" in text


def test_unknown_component(tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(PluginError) as caught:
        plan(GOOD.replace("kind: calculator", "kind: calculater"), tmp_path, registry)
    assert "r.yaml:4:10: tools[0]: no tool is called 'calculater'; did you mean 'calculator'?" in str(caught.value)


def test_settings(tmp_path: Path, registry: Registry) -> None:
    made = plan(GOOD, tmp_path, registry, ["seed=7", "stages.eval.tasks=9", "environment.digits=1", "stages.0.tasks=2"])
    assert made.recipe.seed == 7
    assert made.environment.config.model_dump()["digits"] == 1
    assert made.stages[2].spec.model_dump()["tasks"] == 9
    assert made.stages[0].spec.model_dump()["tasks"] == 2


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (["stages=[null]"], "--set stages: stages[0]: "),
        (["stages=[[1]]"], "--set stages: stages[0]: "),
        (["stages.0=3"], "--set stages.0: stages[0]: "),
        (["environment.digit=2"], "--set environment.digit: environment.digit: unknown key; did you mean 'digits'?"),
        (
            ["stages.eval.samples=0"],
            "--set stages.eval.samples: stages[2].eval.samples: must be at least 1, got a number",
        ),
        (
            ["sampling.temperature=hot"],
            "--set sampling.temperature: sampling.temperature: a number is expected, got text",
        ),
        (
            ["environment.digits=true"],
            "--set environment.digits: environment.digits: a whole number is expected, got true",
        ),
        (["name='${env:AWORLD_UNSET_X}'"], "--set name: name: the environment variable AWORLD_UNSET_X"),
    ],
)
def test_an_error_in_a_value_that_was_set_names_the_setting(
    settings: list[str], expected: str, tmp_path: Path, registry: Registry
) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(GOOD, tmp_path, registry, settings)
    assert expected in str(caught.value)
    assert "1:1" not in str(caught.value)


@pytest.mark.parametrize("setting", ["seed", "=1", "stages.9.tasks=1", "name.x=1", "seed=[1", f"{'a.' * 3000}a=1"])
def test_bad_settings(setting: str, tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(UsageError):
        plan(GOOD, tmp_path, registry, [setting])


def test_a_literal_secret_is_refused(tmp_path: Path, registry: Registry) -> None:
    bad = GOOD.replace("{kind: arithmetic-teacher}", "{kind: openai, model: m, api_key: sk-123}")
    with pytest.raises(RecipeError) as caught:
        plan(bad, tmp_path, registry)
    assert "model.api_key: a secret is never written" in str(caught.value)
    assert "sk-123" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "a: !!python/object:x y", "a: *b", "\x00", "a: {b: {c: " * 2000])
def test_not_a_recipe(text: str, tmp_path: Path, registry: Registry) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(text, tmp_path, registry)
    assert str(caught.value).startswith(str(tmp_path))
