"""The JSON Schema and `aworld validate` agree: on every shipped recipe, and on every broken one."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from aworld_cli.errors import AWorldError
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document, KeyPath, parse_document
from aworld_cli.recipe.json_schema import recipe_schema
from aworld_cli.recipe.loading import plan_document
from aworld_cli.recipe.schema_file import MODELINE, SCHEMA_FILE, schema_text
from aworld_cli.starters import STARTERS

ROOT = Path(__file__).parents[2]
OURS = {"aworld-cli", *(path.name for path in (ROOT / "plugins").iterdir() if path.is_dir())}
REGISTRY = Registry([plugin for plugin in load_plugins() if plugin.distribution in OURS])
SCHEMA = recipe_schema(REGISTRY)
VALIDATOR = Draft202012Validator(SCHEMA.value)

RECIPES = sorted((ROOT / "recipes").glob("*.yaml"))
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("plugins/*/README.md")]
FOREIGN = re.compile(r"kind: dice")  # a component that a page lets its reader write
BLOCKS = [
    block
    for page in PAGES
    for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if re.match(r"(#.*\n)*aworld: 1\n", block) and not FOREIGN.search(block)
]
SHOWN = [*(path.read_text() for path in RECIPES), *BLOCKS, *(starter.text() for starter in STARTERS.values())]

BASE = """\
aworld: 1
name: test
seed: 0
model: {kind: local, create: {hidden: 64, layers: 1, heads: 4}, threads: 1}
agent: {kind: react, max_turns: 2, system: Solve it.}
tools:
  - {kind: calculator, call_timeout: 5}
  - {kind: stdio, command: server, args: [a], env: {LANG: C}}
environment: {kind: arithmetic, digits: 2, operations: ["+"]}
runtime: {kind: local, concurrency: 8}
reporters: []
sampling: {temperature: 1.0, top_p: 0.9, max_tokens: 16}
stages:
  - eval: {name: base, split: test, tasks: 4, samples: 4, k: [1, 4]}
  - rollout:
      split: train
      model: {kind: openai, model: m, api_key: "${env:KEY}", headers: {X-Title: t}, extra_body: {a: 1}}
      sampling: {temperature: 0}
  - sft: {from: rollout, keep: grade.correct, steps: 3, lr: 1.0e-3}
  - train: {kind: verl, split: train, steps: 2, batch: 4, samples: 2, algorithm: grpo, shuffle_rewards: false}
"""
EVAL: KeyPath = ("stages", 0, "eval")
ROLLOUT: KeyPath = ("stages", 1, "rollout")
OPENAI: KeyPath = (*ROLLOUT, "model")
SFT: KeyPath = ("stages", 2, "sft")
TRAIN: KeyPath = ("stages", 3, "train")
ABSENT = object()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"KEY": "sk-1", "THREE": "3", "HALF": "0.5", "YES": "true", "WORD": "grpo"}.items():
        monkeypatch.setenv(name, value)


def changed(*edits: tuple[KeyPath, Any]) -> dict[str, Any]:
    """Return BASE with the values at some paths replaced, or removed where they are ABSENT."""
    value: dict[str, Any] = copy.deepcopy(parse_document(BASE, "base").value)
    for path, new in edits:
        target: Any = value
        for part in path[:-1]:
            target = target[part]
        if new is ABSENT:
            del target[path[-1]]
        elif isinstance(target, list) and path[-1] == len(target):
            target.append(new)
        else:
            target[path[-1]] = new
    return value


def schema_takes(value: Any) -> bool:
    return bool(VALIDATOR.is_valid(value))


def problems(value: Any) -> list[str]:
    """Return what `aworld validate` has to say of the recipe's keys, types and components."""
    try:
        plan_document(Document("r.yaml", copy.deepcopy(value)), REGISTRY)
    except AWorldError as error:
        return str(error).splitlines()
    return []


def test_it_is_a_schema_whose_references_all_lead_somewhere() -> None:
    Draft202012Validator.check_schema(SCHEMA.value)
    names = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(SCHEMA.value)))
    assert names == set(SCHEMA.value["$defs"])
    assert "aworld-local.CreateConfig" in names and "recipe.ComponentChoice" not in names
    assert SCHEMA.problems == []
    assert '"default": null' not in json.dumps(SCHEMA.value)  # yaml-language-server would complete no stage


def test_the_file_beside_the_recipes_is_current() -> None:
    found = (ROOT / "recipes" / SCHEMA_FILE).read_text(encoding="utf-8")
    assert found == schema_text(SCHEMA.value), f"run: aworld schema --output recipes/{SCHEMA_FILE}"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_of_ours_names_the_schema_in_its_first_line(path: Path) -> None:
    assert path.read_text(encoding="utf-8").startswith(f"{MODELINE}\n")


@pytest.mark.parametrize("text", SHOWN, ids=lambda text: re.findall(r"^name: (\S+)", text, re.MULTILINE)[0])
def test_a_shipped_recipe_is_accepted(text: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(parse_document(text, "r.yaml").value)] == []


def test_the_recipe_that_is_broken_below_is_a_good_one() -> None:
    assert problems(changed()) == [] and schema_takes(changed())


BROKEN: dict[str, list[tuple[KeyPath, Any]]] = {
    # the recipe
    "unknown key": [(("nmae",), "x")],
    "no version": [(("aworld",), ABSENT)],
    "another version": [(("aworld",), 2)],
    "version in quotes": [(("aworld",), "1")],
    "version true": [(("aworld",), True)],
    "no name": [(("name",), ABSENT)],
    "name with a space": [(("name",), "my run")],
    "name with capitals": [(("name",), "Run")],
    "name a number": [(("name",), 7)],
    "name null": [(("name",), None)],
    "seed negative": [(("seed",), -1)],
    "seed too large": [(("seed",), 2**31)],
    "seed a half": [(("seed",), 0.5)],
    "seed true": [(("seed",), True)],
    "seed a word": [(("seed",), "zero")],
    "seed a list": [(("seed",), [1])],
    "no model": [(("model",), ABSENT)],
    "no environment": [(("environment",), ABSENT)],
    "no stages": [(("stages",), ABSENT)],
    "stages empty": [(("stages",), [])],
    "stages a mapping": [(("stages",), {"eval": {"split": "test"}})],
    "sampling unknown key": [(("sampling", "temprature"), 1)],
    "sampling out of range": [(("sampling", "top_p"), 1.5)],
    "sampling zero mass": [(("sampling", "top_p"), 0)],
    "sampling a word": [(("sampling",), "greedy")],
    # components
    "component a word": [(("model",), "local")],
    "component without kind": [(("model", "kind"), ABSENT)],
    "environment without kind": [(("environment", "kind"), ABSENT)],
    "kind unknown": [(("model", "kind"), "locl")],
    "kind null": [(("model", "kind"), None)],
    "kind of another kind": [(("agent", "kind"), "local")],
    "kind of a wrong distribution": [(("model", "kind"), "aworld-openai/local")],
    "kind a list": [(("environment", "kind"), ["arithmetic"])],
    "option unknown": [(("environment", "digit"), 2)],
    "option of another component": [(("model", "base_url"), "http://x/v1")],
    "option of the wrong type": [(("environment", "digits"), "two")],
    "option a mapping": [(("environment", "digits"), {})],
    "option out of range": [(("environment", "digits"), 13)],
    "option null": [(("environment", "digits"), None)],
    "option true": [(("agent", "max_turns"), True)],
    "word a number": [(("agent", "system"), 3)],
    "one of a list unknown": [(("environment", "operations"), ["+", "/"])],
    "list empty": [(("environment", "operations"), [])],
    "list a word": [(("environment", "operations"), "+")],
    "nested unknown key": [(("model", "create", "width"), 64)],
    "nested out of range": [(("model", "create", "layers"), 0)],
    "nested wrong type": [(("model", "create", "layers"), [1])],
    "tools a mapping": [(("tools",), {"kind": "calculator"})],
    "tool a word": [(("tools", 0), "calculator")],
    "tool without kind": [(("tools", 0, "kind"), ABSENT)],
    "tool option missing": [(("tools", 1, "command"), ABSENT)],
    "tool option empty": [(("tools", 1, "command"), "")],
    "tool option of another tool": [(("tools", 0, "command"), "server")],
    "tool time zero": [(("tools", 0, "call_timeout"), 0)],
    "reporter unknown": [(("reporters", 0), {"kind": "nobody"})],
    # stages
    "stage with two keys": [(("stages", 0, "rollout"), {"split": "train"})],
    "stage without a key": [(("stages", 0), {})],
    "stage a word": [(("stages", 0), "eval")],
    "stage unknown": [(("stages", 4), {"evaluate": {"split": "test"}})],
    "stage with nothing below": [(EVAL, None)],
    "stage key unknown": [((*EVAL, "smaples"), 4)],
    "stage key of another stage": [((*ROLLOUT, "k"), [1])],
    "stage name bad": [((*EVAL, "name"), "Base!")],
    "split missing": [((*EVAL, "split"), ABSENT)],
    "tasks none": [((*EVAL, "tasks"), 0)],
    "tasks a half": [((*EVAL, "tasks"), 1.5)],
    "samples null": [((*EVAL, "samples"), None)],
    "k a number": [((*EVAL, "k"), 1)],
    "k empty": [((*EVAL, "k"), [])],
    "k a word": [((*EVAL, "k"), ["one"])],
    "model of a stage unknown": [((*OPENAI, "kind"), "opnai")],
    "model of a stage without kind": [((*OPENAI, "kind"), ABSENT)],
    "model of a stage: option missing": [((*OPENAI, "model"), ABSENT)],
    "sampling of a stage": [((*ROLLOUT, "sampling", "top_k"), 5)],
    "sft without from": [((*SFT, "from"), ABSENT)],
    "sft by the field's other name": [((*SFT, "from"), ABSENT), ((*SFT, "source"), "rollout")],
    "sft option unknown": [((*SFT, "step"), 3)],
    "sft option of verl": [((*SFT, "algorithm"), "grpo")],
    "trainer unknown": [((*TRAIN, "kind"), "ppo")],
    "trainer missing": [((*TRAIN, "kind"), ABSENT)],
    "trainer's choice unknown": [((*TRAIN, "algorithm"), "gropo")],
    "trainer's number": [((*TRAIN, "samples"), 1)],
    "trainer's switch": [((*TRAIN, "shuffle_rewards"), "perhaps")],
    "trainer's switch a number": [((*TRAIN, "shuffle_rewards"), 2)],
    # secrets, references
    "secret": [((*OPENAI, "api_key"), "sk-very-secret")],
    "secret by default": [((*OPENAI, "api_key"), "${env:KEY:-sk-very-secret}")],
    "secret a number": [((*OPENAI, "api_key"), 12345)],
    "secret header": [((*OPENAI, "headers", "Authorization"), "Bearer x")],
    "secret by its look": [((*OPENAI, "headers", "X-Title"), "sk-abcdef")],
    "secret of a program": [(("tools", 1, "env", "GITHUB_TOKEN"), "abc")],
    "header a number": [((*OPENAI, "headers", "X-Title"), 1)],
    "reference not closed": [(("environment", "digits"), "${env:THREE")],
    "reference for a list": [(("tools",), "${env:THREE}")],
    "reference for a mapping": [(("sampling",), "${env:THREE}")],
    "reference for the version": [(("aworld",), "${env:ONE:-1}")],
}


@pytest.mark.parametrize("edits", BROKEN.values(), ids=BROKEN)
def test_a_broken_recipe_is_refused_by_both(edits: list[tuple[KeyPath, Any]]) -> None:
    value = changed(*edits)
    assert problems(value) and not schema_takes(value)


ONLY_VALIDATE: dict[str, list[tuple[KeyPath, Any]]] = {
    "k above samples": [((*EVAL, "k"), [8])],
    "k of zero": [((*EVAL, "k"), [0])],
    "two stages of one name": [((*ROLLOUT, "name"), "base")],
    "from a stage that is not there": [((*SFT, "from"), "nowhere")],
    "keep no expression": [((*SFT, "keep"), "import os")],
    "two options that exclude each other": [(("model", "path"), "smollm2")],
    "numbers that do not fit each other": [(("model", "create", "heads"), 7)],
    "no URL": [((*OPENAI, "base_url"), "here")],
    "a key that we set": [((*OPENAI, "extra_body", "messages"), [])],
    "a variable that is not set": [(("environment", "digits"), "${env:AWORLD_UNSET_X}")],
    "a variable of another type": [(("environment", "digits"), "${env:WORD}")],
    "a number in quotes out of range": [(("environment", "digits"), "99")],
    "a reference not closed in a text": [(("agent", "system"), "${env:X")],
    "a key with a reference": [((*OPENAI, "extra_body", "${env:KEY}"), 1)],
}


@pytest.mark.parametrize("edits", ONLY_VALIDATE.values(), ids=ONLY_VALIDATE)
def test_what_only_validate_sees(edits: list[tuple[KeyPath, Any]]) -> None:
    value = changed(*edits)
    assert problems(value) and schema_takes(value)


GOOD: dict[str, list[tuple[KeyPath, Any]]] = {
    "whole number from the environment": [(("environment", "digits"), "${env:THREE}")],
    "number from the environment": [(("sampling", "top_p"), "${env:HALF}")],
    "number with a default": [(("sampling", "top_p"), "${env:AWORLD_UNSET_X:-0.5}")],
    "number or nothing from the environment": [((*EVAL, "tasks"), "${env:THREE}")],
    "switch from the environment": [((*TRAIN, "shuffle_rewards"), "${env:YES}")],
    "choice from the environment": [((*TRAIN, "algorithm"), "${env:WORD}")],
    "kind from the environment": [(("agent",), {"kind": "${env:AWORLD_UNSET_X:-react}", "max_turns": 2})],
    "name from the environment": [(("name",), "${env:WORD}-run")],
    "one of a list from the environment": [((*EVAL, "k"), [1, "${env:THREE}"])],
    "secret within a text": [((*OPENAI, "headers", "Authorization"), "Bearer ${env:KEY}")],
    "secret empty": [((*OPENAI, "api_key"), "")],
    "secret null": [((*OPENAI, "api_key"), None)],
    "header that only looks like a secret's": [((*OPENAI, "headers", "X-Author"), "me")],
    "number in quotes": [(("environment", "digits"), "3")],
    "a number without a fraction": [(("environment", "digits"), 3.0)],
    "whole number for a number": [(("sampling", "temperature"), 1)],
    "yes": [((*TRAIN, "shuffle_rewards"), "yes")],
    "switch by number": [((*TRAIN, "shuffle_rewards"), 1)],
    "distribution/name": [(("model", "kind"), "aworld-local/local"), (("agent", "kind"), "aworld-cli/react")],
    "distribution/name of a trainer": [((*SFT, "kind"), "aworld-local/sft"), ((*TRAIN, "kind"), "aworld-verl/verl")],
    "null where nothing is a choice": [((*EVAL, "tasks"), None), ((*EVAL, "model"), None), ((*EVAL, "name"), None)],
    "the least": [((key,), ABSENT) for key in ("seed", "agent", "tools", "runtime", "reporters", "sampling")],
}


@pytest.mark.parametrize("edits", GOOD.values(), ids=GOOD)
def test_what_both_accept(edits: list[tuple[KeyPath, Any]]) -> None:
    value = changed(*edits)
    assert [error.message for error in VALIDATOR.iter_errors(value)] == [] and problems(value) == []


@pytest.mark.parametrize(
    ("path", "value", "at", "said"),
    [
        (("environment", "digit"), 2, "$.environment", "'digit' was unexpected"),
        (("model", "kind"), "locl", "$.model.kind", "'local'"),
        (("environment", "digits"), 13, "$.environment.digits", "greater than the maximum of 12"),
        ((*TRAIN, "algorithm"), "gropo", "$.stages[3].train.algorithm", "'grpo'"),
        ((*EVAL, "smaples"), 2, "$.stages[0].eval", "'smaples' was unexpected"),
        ((*SFT, "algorithm"), "grpo", "$.stages[2].sft", "'algorithm' was unexpected"),
    ],
)
def test_an_error_is_one_and_at_its_place(path: KeyPath, value: Any, at: str, said: str) -> None:
    (error,) = VALIDATOR.iter_errors(changed((path, value)))
    deepest = best_match([error])
    assert deepest is not None and error.json_path == at
    assert said in deepest.message or said in str(error.schema)
