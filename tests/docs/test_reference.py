"""docs/reference.md says what the code does, and says something of everything that a user or an author can name."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from aworld_cli.errors import EXIT_CODES, AWorldError
from aworld_cli.host import hooks
from aworld_cli.recipe.schema import STAGES, Recipe
from docs.make_reference import TARGET, components, helps, reference, undescribed

ROOT = Path(__file__).parents[2]
#: Read or set between our own processes, or by the shell's completion: nobody else sets them.
INTERNAL = {"AWORLD_COMPLETE", "AWORLD_CONFORMANCE", "AWORLD_VERL_RUN"}


@pytest.fixture(scope="module")
def page() -> str:
    return TARGET.read_text(encoding="utf-8")


def variables() -> Iterator[str]:
    """Yield each `AWORLD_*` name in a text of the code."""
    for path in [*ROOT.glob("aworld_cli/**/*.py"), *ROOT.glob("plugins/*/aworld_*/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"AWORLD_[A-Z][A-Z_]*[A-Z]", node.value)


def subclasses(kind: type[AWorldError]) -> Iterator[type[AWorldError]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from subclasses(inner)


def test_the_page_is_current(page: str) -> None:
    assert page == reference(), "run: python docs/make_reference.py"


def test_every_public_option_has_a_description() -> None:
    assert undescribed() == []


def test_every_component_is_there(page: str) -> None:
    assert not [item.title for item in components() if f"### {item.component.kind} `{item.component.name}`" not in page]


def test_every_command_is_there(page: str) -> None:
    names = [name for name, _ in helps()]
    assert {"aworld", "aworld run", "aworld runs show", "aworld plugins new", "aworld models fetch"} <= set(names)
    assert not [name for name in names if f"### {name}\n" not in page]


def test_every_recipe_key_is_there(page: str) -> None:
    keys = [*Recipe.model_fields, *(field for stage in STAGES.values() for field in stage.model_fields)]
    aliases = {"source": "from"}
    assert not [key for key in keys if f"| `{aliases.get(key, key)}` |" not in page]
    assert not [stage for stage in STAGES if f"### The stage `{stage}`" not in page]


def test_every_hook_is_there(page: str) -> None:
    names = [name for name, _ in inspect.getmembers(hooks, inspect.isfunction) if name.startswith("aworld_")]
    assert len(names) >= 7
    assert not [name for name in names if f"\n`{name}(" not in page]


def test_every_environment_variable_is_there(page: str) -> None:
    found = set(variables()) - INTERNAL
    assert {"AWORLD_RUNS_DIR", "AWORLD_CACHE_DIR"} <= found
    assert not [name for name in found if f"`{name}" not in page]


def test_every_exit_code_is_there(page: str) -> None:
    codes = {code for code, _ in EXIT_CODES}
    assert {kind.exit_code for kind in subclasses(AWorldError)} <= codes
    table = page.partition("## Exit codes")[2].partition("## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [code for code, _ in EXIT_CODES]
