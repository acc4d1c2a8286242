"""What a wrong recipe is told: its place, what is expected, what was got, and how to mend it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError

from aworld_cli.errors import PluginError, RecipeError
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.loading import load_plan
from aworld_cli.recipe.wording import explain

RECIPE = """\
aworld: 1
name: test
model: {kind: arithmetic-teacher}
tools: [{kind: calculator}]
environment: {kind: arithmetic}
stages:
  - rollout: {split: train, tasks: 4}
  - sft:
      from: rollout
  - eval: {split: test, samples: 4, k: [1, 4]}
"""
MODEL, TOOLS, ROLLOUT = "{kind: arithmetic-teacher}", "[{kind: calculator}]", "rollout: {split: train, tasks: 4}"
LANGUAGE = "write `aworld: 1`, the version of the recipe language"
LIST_HINT = "each item of a list starts with `- `"
BELOW = "write `rollout:`, with its settings below it"
STAGE = "each stage is one key (rollout, sft, train, eval) with its settings below it"


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry(load_plugins())


def told(text: str, registry: Registry, tmp_path: Path, settings: tuple[str, ...] = ()) -> list[str]:
    path = tmp_path / "r.yaml"
    path.write_text(text)
    with pytest.raises((RecipeError, PluginError)) as caught:
        load_plan(path, registry, settings)
    assert str(caught.value).splitlines() == [str(problem) for problem in caught.value.problems]
    return [line.removeprefix(f"{tmp_path}/") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("aworld: 1\n", "", [f"r.yaml:1:1: aworld: is required and missing; {LANGUAGE}"]),
        ("aworld: 1", "aworld: 2", ["r.yaml:1:1: aworld: 1 is expected, got 2; a newer aworld-cli may read it"]),
        ("aworld: 1", "aworld: '1'", [f"r.yaml:1:1: aworld: 1 is expected, got '1'; {LANGUAGE}"]),
        ("aworld: 1", "aworld:", [f"r.yaml:1:1: aworld: 1 is expected, got null; {LANGUAGE}"]),
        ("name: test", "name: 1.10", ["r.yaml:2:1: name: text is expected, got 1.1; put it in quotes"]),
        ("name: test", "name: [a]", ["r.yaml:2:1: name: text is expected, got a list"]),
        ("name: test", "name: A b", ["r.yaml:2:1: name: must match ^[a-z0-9][a-z0-9_.-]*$, got 'A b'"]),
        ("name: test", "seed: 1", ["r.yaml:1:1: name: is required and missing"]),
        (MODEL, "local", ["r.yaml:3:1: model: a mapping is expected, got 'local'; write {kind: local}"]),
        (MODEL, "", ["r.yaml:3:1: model: a mapping is expected, got null"]),
        (MODEL, "[local]", ["r.yaml:3:1: model: a mapping is expected, got a list"]),
        (MODEL, "{}", ["r.yaml:3:1: model.kind: is required and missing"]),
        (MODEL, "{kind: 3}", ["r.yaml:3:9: model.kind: text is expected, got 3; put it in quotes"]),
        (MODEL, "{kind: ''}", ["r.yaml:3:9: model.kind: must not be empty"]),
        (
            MODEL,
            "{kind: arithmetic-techer}",
            ["r.yaml:3:9: model: no model is called 'arithmetic-techer'; did you mean 'arithmetic-teacher'?"],
        ),
        (MODEL, "{kind: openai}", ["r.yaml:3:1: model.model: is required and missing"]),
        (
            MODEL,
            "{kind: openai, model: m, headers: {a: [b]}, retry_attempts: 0, max_connections: 1.5}",
            [
                "r.yaml:3:43: model.headers.a: text is expected, got a list",
                "r.yaml:3:52: model.retry_attempts: must be at least 1, got 0",
                "r.yaml:3:71: model.max_connections: a whole number is expected, got 1.5",
            ],
        ),
        (TOOLS, "calculator", ["r.yaml:4:1: tools: a list is expected, got 'calculator'; write [{kind: calculator}]"]),
        (
            TOOLS,
            "[calculator]",
            ["r.yaml:4:9: tools[0]: a mapping is expected, got 'calculator'; write {kind: calculator}"],
        ),
        (TOOLS, "{kind: calculator}", [f"r.yaml:4:1: tools: a list is expected, got a mapping; {LIST_HINT}"]),
        (TOOLS, "", ["r.yaml:4:1: tools: a list is expected, got null"]),
        (
            "tools:",
            "agent: {kind: react, max_turns: x, max_turn: 3}\ntools:",
            [
                "r.yaml:4:22: agent.max_turns: a whole number is expected, got 'x'",
                "r.yaml:4:36: agent.max_turn: unknown key; did you mean 'max_turns'?",
            ],
        ),
        (
            "tools:",
            "runtime: {concurrency: lots}\ntools:",
            ["r.yaml:4:11: runtime.concurrency: a whole number is expected, got 'lots'"],
        ),
        (
            "tools:",
            "top_p: 2\ntools:",
            [
                "r.yaml:4:1: top_p: unknown key; known: agent, aworld, environment, extends, model, name, reporters, "
                "runtime, sampling, seed, stages, tools; it stands below `sampling`"
            ],
        ),
        ("tools:", "sampling: {top_p: 2}\ntools:", ["r.yaml:4:12: sampling.top_p: must be at most 1, got 2"]),
        (
            ROLLOUT,
            "rollout:\n    split: train",
            [f"r.yaml:7:5: stages[0]: {STAGE}; indent the settings below `rollout:`"],
        ),
        (ROLLOUT, "rollout", [f"r.yaml:7:5: stages[0]: a mapping is expected, got 'rollout'; {BELOW}"]),
        (ROLLOUT, "rollout:", ["r.yaml:7:5: stages[0].rollout.split: is required and missing"]),
        (ROLLOUT, "rollout: 3", ["r.yaml:7:5: stages[0].rollout: a mapping is expected, got 3"]),
        (ROLLOUT, "rolout: {split: x}", ["r.yaml:7:5: stages[0].rolout: unknown stage; did you mean 'rollout'?"]),
        (
            "from:",
            "form:",
            [
                "r.yaml:8:5: stages[1].sft.from: is required and missing",
                "r.yaml:9:7: stages[1].sft.form: unknown key; did you mean 'from'?",
            ],
        ),
        ("k: [1, 4]", "k: 1", ["r.yaml:10:37: stages[2].eval.k: a list is expected, got 1"]),
        ("k: [1, 4]", "k: [1, a]", ["r.yaml:10:44: stages[2].eval.k[1]: a whole number is expected, got 'a'"]),
        ("k: [1, 4]", "k: [a]", ["r.yaml:10:41: stages[2].eval.k[0]: a whole number is expected, got 'a'"]),
        ("k: [1, 4]", "k: []", ["r.yaml:10:37: stages[2].eval.k: must not be empty"]),
        (
            "stages:\n",
            "stages: {}\nstage:\n",
            [
                f"r.yaml:6:1: stages: a list is expected, got a mapping; {LIST_HINT}",
                "r.yaml:7:1: stage: unknown key; did you mean 'stages'?",
            ],
        ),
    ],
)
def test_what_is_told(old: str, new: str, lines: list[str], registry: Registry, tmp_path: Path) -> None:
    assert old in RECIPE
    assert told(RECIPE.replace(old, new, 1), registry, tmp_path) == lines


def test_components_and_stages_are_checked_though_the_recipe_itself_is_wrong(
    registry: Registry, tmp_path: Path
) -> None:
    text = RECIPE.replace("name: test", "nam: test").replace(MODEL, "{kind: openai, base_url: x}")
    text = text.replace("{kind: arithmetic}", "{kind: arithmetik}").replace("samples: 4", "sample: 4")
    found = told(text.replace("from: rollout", "from: rollout\n      step: 3"), registry, tmp_path)
    assert [line.split(": ")[1] for line in found] == [
        "name",
        "nam",
        "model.model",
        "model.base_url",
        "environment",
        "stages[1].sft.step",
        "stages[2].eval.sample",
    ]


def test_a_value_that_may_be_secret_is_not_shown(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN", "hidden-1")
    text = RECIPE.replace("tools:", "seed: '${env:HIDDEN}'\nruntime: {concurrency: sk-hidden-2}\ntools:")
    text = text.replace("{kind: arithmetic}", "{kind: arithmetic, digits: hidden-3}")
    text = text.replace(MODEL, "{kind: openai, model: m, api_key: hidden-4, headers: {A: [hidden-5]}}")
    found = told(text, registry, tmp_path, ("environment.digits=hidden-6", "sampling.top_p=hidden-7"))
    assert "hidden" not in "\n".join(found)
    assert "r.yaml:4:1: seed: a whole number is expected, got the value of ${env:HIDDEN}" in found
    assert "r.yaml:5:11: runtime.concurrency: a whole number is expected, got text" in found
    assert "--set environment.digits: environment.digits: a whole number is expected, got text" in found
    assert len(found) == 6


@pytest.mark.parametrize("value", ["${env:HIDDEN}", "sk-hidden-2"])
def test_the_hint_shows_no_secret_either(
    value: str, registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIDDEN", "hidden-1")
    found = told(RECIPE.replace(MODEL, value), registry, tmp_path)
    assert len(found) == 1 and found[0].startswith("r.yaml:3:1: model: a mapping is expected, got ")
    assert "hidden" not in found[0]


# -- the wording of whatever a plugin's model may say -----------------------------------------------------------


class Colour(Enum):
    red = "red"
    green = "green"


class Cat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["dog"]
    name: str


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid")

    word: str = "x"
    size: int = 1
    rate: float = 1
    flag: bool = True
    mode: Literal["fast", "slow"] = "fast"
    either: Literal["auto"] | int = "auto"
    colour: Colour = Colour.red
    pair: tuple[int, str] = (1, "x")
    few: list[int] = Field([], max_length=2)
    table: dict[str, int] = {}
    maybe: int | None = None
    union: int | str = 1
    pet: Cat | Dog | None = None
    tagged: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None
    pets: list[Cat] = []
    step: int = Field(1, multiple_of=2)
    text: str = Field("xx", min_length=2, max_length=3, pattern="^x")
    url: HttpUrl | None = None
    ratio: float = Field(0.5, gt=0, lt=1, allow_inf_nan=False)


@pytest.mark.parametrize(
    ("value", "path", "text"),
    [
        ({"word": 3}, ("word",), "text is expected, got 3; put it in quotes"),
        ({"word": True}, ("word",), "text is expected, got true; put it in quotes"),
        ({"word": None}, ("word",), "text is expected, got null"),
        ({"size": "many"}, ("size",), "a whole number is expected, got 'many'"),
        ({"size": 1.5}, ("size",), "a whole number is expected, got 1.5"),
        ({"size": {}}, ("size",), "a whole number is expected, got a mapping"),
        ({"size": "x" * 100}, ("size",), "a whole number is expected, got text"),
        ({"size": "a\nb"}, ("size",), "a whole number is expected, got text"),
        ({"rate": "fast"}, ("rate",), "a number is expected, got 'fast'"),
        ({"flag": "perhaps"}, ("flag",), "true or false is expected, got 'perhaps'"),
        ({"flag": 2}, ("flag",), "true or false is expected, got 2"),
        ({"mode": "fats"}, ("mode",), "one of 'fast' or 'slow' is expected, got 'fats'; did you mean 'fast'?"),
        ({"mode": "x"}, ("mode",), "one of 'fast' or 'slow' is expected, got 'x'"),
        ({"either": "auot"}, ("either",), "'auto' or a whole number is expected, got 'auot'; did you mean 'auto'?"),
        ({"colour": "gren"}, ("colour",), "one of 'red' or 'green' is expected, got 'gren'; did you mean 'green'?"),
        ({"pair": [1]}, ("pair", 1), "is required and missing"),
        ({"pair": ["a", "b"]}, ("pair", 0), "a whole number is expected, got 'a'"),
        ({"pair": [1, "a", 2]}, ("pair",), "must have at most 2 items"),
        ({"pair": 1}, ("pair",), "a list is expected, got 1"),
        ({"few": [1, 2, 3]}, ("few",), "must have at most 2 items"),
        ({"few": {"a": 1}}, ("few",), "a list is expected, got a mapping; each item of a list starts with `- `"),
        ({"table": {"a": "b"}}, ("table", "a"), "a whole number is expected, got 'b'"),
        ({"table": []}, ("table",), "a mapping is expected, got a list"),
        ({"maybe": "x"}, ("maybe",), "a whole number is expected, got 'x'"),
        ({"union": []}, ("union",), "a whole number or text is expected, got a list"),
        ({"pet": 3}, ("pet",), "a mapping is expected, got 3"),
        (
            {"tagged": {"kind": "cta"}},
            ("tagged",),
            "one of 'cat', 'dog' is expected as 'kind', got 'cta'; did you mean 'cat'?",
        ),
        ({"tagged": {}}, ("tagged",), "'kind' is required and missing"),
        ({"tagged": {"kind": "dog"}}, ("tagged", "name"), "is required and missing"),
        ({"pets": [{"kind": "cat", "live": 3}]}, ("pets", 0, "live"), "unknown key; did you mean 'lives'?"),
        ({"step": 3}, ("step",), "must be a multiple of 2, got 3"),
        ({"text": "x"}, ("text",), "must have at least 2 characters"),
        ({"text": "xxxx"}, ("text",), "must have at most 3 characters"),
        ({"text": "yy"}, ("text",), "must match ^x, got 'yy'"),
        ({"ratio": 0}, ("ratio",), "must be more than 0, got 0"),
        ({"ratio": float("inf")}, ("ratio",), "a finite number is expected, got inf"),
        ({"url": "x"}, ("url",), "a URL is expected, got 'x'"),
        ({"sizes": 1}, ("sizes",), "unknown key; did you mean 'size'?"),
    ],
)
def test_wording(value: dict[str, Any], path: tuple[str | int, ...], text: str) -> None:
    assert words(value) == [(path, text)]


def test_a_union_of_mappings_says_what_each_misses() -> None:
    assert (("pet", "name"), "is required and missing") in words({"pet": {"kind": "dog"}})
    assert not [text for path, text in words({"pet": {"kind": "dog"}}) if path == ("pet",)]


def words(value: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(ValidationError) as caught:
        Options.model_validate(value)
    return explain(Options, caught.value.errors(include_input=False), value, lambda path: None)
