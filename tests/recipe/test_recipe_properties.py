"""Whatever stands in a recipe, the answer is a plan or lines with places, never a traceback."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aworld_cli.errors import AWorldError, RecipeError
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import parse_document, parse_value
from aworld_cli.recipe.environment import scalars
from aworld_cli.recipe.layers import merge
from aworld_cli.recipe.loading import plan_document
from aworld_cli.recipe.plan import value_at

RECIPE: dict[str, Any] = {
    "aworld": 1,
    "name": "x",
    "seed": 0,
    "model": {"kind": "openai", "model": "m", "headers": {"X": "y"}, "extra_body": {}},
    "agent": {"kind": "react", "max_turns": 3},
    "tools": [{"kind": "calculator"}, {"kind": "stdio", "command": "x", "args": ["a"]}],
    "environment": {"kind": "arithmetic", "digits": 2},
    "runtime": {"kind": "local"},
    "sampling": {"top_p": 1.0},
    "stages": [
        {"rollout": {"split": "train", "model": {"kind": "arithmetic-teacher"}, "sampling": {}}},
        {"sft": {"from": "rollout", "keep": "grade.correct"}},
        {"train": {"kind": "verl", "steps": 1}},
        {"eval": {"split": "test", "k": [1]}},
    ],
}
PATHS = [path for path, _ in scalars(RECIPE)]
ANYWHERE = sorted({path[:end] for path in PATHS for end in range(1, len(path) + 1)}, key=str)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from(["", "x", "${env:", "${env:AWORLD_UNSET_X}", "react", "local", "eval", "1", "~", "\u2028"])
    | st.text(max_size=5)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "name", "split", "a", "${env:A}"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry(load_plugins())


def with_value(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    recipe = copy.deepcopy(RECIPE)
    value_at(recipe, path[:-1])[path[-1]] = value
    return recipe


def test_the_recipe_itself_holds(registry: Registry) -> None:
    assert plan_document(parse_document(json.dumps(RECIPE), "r.yaml"), registry).recipe.name == "x"


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(path=st.sampled_from(ANYWHERE), value=VALUES)
def test_any_value_anywhere_is_a_plan_or_problems_with_places(
    path: tuple[str | int, ...], value: Any, registry: Registry
) -> None:
    text = json.dumps(with_value(path, value), ensure_ascii=True, allow_nan=True)
    try:
        plan_document(parse_document(text, "r.yaml"), registry)
    except AWorldError as error:
        assert error.exit_code in (4, 5) and error.problems
        assert str(error).splitlines() == list(dict.fromkeys(map(str, error.problems)))
        assert all(problem.source == "r.yaml" and problem.line == 1 and problem.message for problem in error.problems)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(text=st.text(alphabet="ab:-?*&!<>{}[],'\"#|%@ \n\t0.~=\\x\x00\u2028", max_size=40))
def test_any_text_is_a_value_or_a_recipe_error(text: str) -> None:
    try:
        document = parse_value(text, "x")
    except RecipeError as error:
        assert all(str(problem).startswith("x") for problem in error.problems)
    else:
        assert () in document.marks or document.value is None


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(values=st.tuples(VALUES, VALUES, VALUES))
def test_the_last_layer_has_the_last_word_and_every_value_the_place_of_its_layer(values: tuple[Any, ...]) -> None:
    layers = [parse_document(json.dumps({"a": value}), name) for name, value in zip("123", values, strict=True)]
    merged = merge(merge(layers[0], layers[1]), layers[2])
    for path, value in scalars(layers[2].value):
        assert repr(value_at(merged.value, path)) == repr(value)
    for path, value in scalars(merged.value):
        (source,) = [layer for layer in layers if layer.source == merged.marks[path].source]
        assert repr(value_at(source.value, path)) == repr(value)
