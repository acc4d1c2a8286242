"""The JSON Schema and `aworld validate` agree on what chance makes of a recipe, and on files that build on others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from aworld_cli.errors import AWorldError
from aworld_cli.recipe.document import KeyPath
from aworld_cli.recipe.loading import load_plan
from tests.recipe.test_json_schema import BASE, REGISTRY, changed, problems, schema_takes


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"KEY": "sk-1", "THREE": "3"}.items():
        monkeypatch.setenv(name, value)


OTHERS: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2.5,
    10**9,
    float("inf"),
    "",
    "x",
    "3",
    "0.5",
    "yes",
    "grpo",
    "react",
    "local",
]
OTHERS += ["${env:KEY}", "${env:THREE}", "${env:X", "sk-abcdef", [], [1], ["x"], [[]], {}, {"kind": "local"}, {"a": 1}]
KEYS = ["kind", "kinds", "name", "split", "model", "steps", "samples", "from", "eval", "sft", "tasks", "x", "digits"]

#: What only `validate` can see: what hangs on another key or on a variable's value, and the grammar within a text.
UNSEEN = re.compile(
    "every k must lie|no earlier stage|two stages are called|multiple of|give `path` or `create`|got the value of"
    "|not a reference|records have no field|is not allowed|is not an expression"
    "|no \\w+ is called (?:'(?:sk-1|3)'|\\$\\{env:)"
    "|must be .*, got '[0-9.]+'$|must not hold"
    "|must not be empty"  # of a list whose one item is a variable of a wrong value
)


def key_paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the paths of all values below the top."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from key_paths(item, (*path, key))


PATHS = list(key_paths(changed()))


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Return BASE with a value or two deleted, renamed, or of another type."""
    value = changed()
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(PATHS))
        target: Any = value
        try:
            for part in path[:-1]:
                target = target[part]
            old = target[path[-1]]
            target[path[-1]] = old  # not so in a text
        except (KeyError, IndexError, TypeError):
            continue  # the first change took it away
        how = draw(st.sampled_from(["delete", "rename", "replace"]))
        if how == "replace" or not isinstance(target, dict):
            target[path[-1]] = draw(st.sampled_from(OTHERS))
            continue
        del target[path[-1]]
        if how == "rename":
            target[draw(st.sampled_from(KEYS))] = old
    return value


@settings(max_examples=400, deadline=None)
@given(mutated())
def test_what_the_schema_refuses_validate_refuses_too(value: dict[str, Any]) -> None:
    found = problems(value)
    if not schema_takes(value):
        assert found
    else:  # and the converse
        assert [line for line in found if not UNSEEN.search(line)] == []


UPPER: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"name": "upper", "environment": {"digits": 3}}, True),
    ({"model": {"create": {"layers": 2}}, "agent": {"max_turns": 3}}, True),
    ({"model": {"kind": "arithmetic-teacher"}}, True),
    ({"stages": [{"eval": {"split": "test"}}], "tools": [{"kind": "calculator"}]}, True),
    ({"sampling": {"top_p": 0.5}}, True),
    ({"environment": {"digit": 3, "kind": "arithmetic"}}, False),
    ({"environment": {"digits": 13, "kind": "arithmetic"}}, False),
    ({"tools": [{"call_timeout": 3}]}, False),
    ({"stages": [{"eval": {"tasks": 1}}]}, False),
    ({"stages": []}, False),
    ({"model": None}, False),
    ({"nmae": "x"}, False),
]


@pytest.mark.parametrize(("value", "good"), UPPER, ids=str)
def test_a_file_that_extends_another(value: dict[str, Any], good: bool, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    upper = {"extends": "base.yaml", **value}
    (tmp_path / "upper.yaml").write_text(yaml.safe_dump(upper))
    try:
        load_plan(tmp_path / "upper.yaml", REGISTRY)
        loads = True
    except AWorldError:
        loads = False
    assert (loads, schema_takes(upper)) == (good, good)
