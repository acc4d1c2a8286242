"""The schema of what a recipe may write for a plugin's own model, whatever types that has."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import date, timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import AnyHttpUrl, BaseModel, ConfigDict, Discriminator, Field, RootModel, SecretStr, Tag, TypeAdapter
from typing_extensions import TypedDict

from aworld_cli.host import Component
from aworld_cli.host.component import Kind
from aworld_cli.host.loader import Plugin, load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe import NamedValue
from aworld_cli.recipe.json_schema import recipe_schema
from aworld_cli.recipe.option_schema import SHARED, any_case, option_schema
from aworld_cli.recipe.secrets import SECRET_NAME, SECRET_TEXT, looks_secret, speaks_of_secret

RECIPE = {
    "aworld": 1,
    "name": "test",
    "model": {"kind": "arithmetic-teacher"},
    "environment": {"kind": "arithmetic"},
    "stages": [{"eval": {"split": "test"}}],
}


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    """Within another."""

    model_config = ConfigDict(extra="forbid")

    needed: int
    password: SecretStr | None = None


class Typed(TypedDict):
    size: NotRequired[int]


class Cat(BaseModel):
    model_config = ConfigDict(extra="forbid")

    pet: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    model_config = ConfigDict(extra="forbid")

    pet: Literal["dog"]


class Tree(BaseModel):
    """One that holds itself."""

    model_config = ConfigDict(extra="forbid")

    value: int = 0
    below: list[Tree] = []


def _tag(value: Any) -> str:
    return "int" if isinstance(value, int) else "str"


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    colour: Colour = Colour.RED
    either: int | Literal["auto"] = "auto"
    mixed: Literal["a", 1] = "a"
    pair: tuple[int, str] = (1, "a")
    several: set[int] = set()
    place: Path = Path()
    wait: timedelta = timedelta(seconds=1)
    day: date | None = None
    url: AnyHttpUrl | None = None
    short: str = Field("ab", max_length=3)
    coded: str = Field("a1", pattern=r"^[a-z]\d$", description="Letter and digit.")
    endless: float = float("inf")
    inner: Inner | None = None
    inners: dict[str, Inner] = {}
    typed: Typed = {}
    pet: Annotated[Cat | Dog, Discriminator("pet")] | None = None
    tagged: Annotated[Annotated[int, Tag("int")] | Annotated[str, Tag("str")], Discriminator(_tag)] = 0
    callback: Callable[[int], int] | None = None
    anything: Any = None
    key: SecretStr = SecretStr("hidden-default")
    keys: list[SecretStr] = []
    variables: dict[str, NamedValue] = {}
    other: int = Field(0, alias="from")


class Options2(BaseModel):
    """Its nested model is called as another one is."""

    class Inner(BaseModel):
        model_config = ConfigDict(extra="forbid")

        other: int = 0

    inner: Inner | None = None


class Broken(BaseModel):
    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> Any:
        raise RuntimeError("no schema today")


class Listed(RootModel[list[int]]):
    pass


class Bag(RootModel[dict[str, int]]):
    pass


def offering(*components: tuple[Kind, str, str], distribution: str = "aworld-odd") -> Plugin:
    made = tuple(Component(kind, name, name, f"{__name__}:x", config) for kind, name, config in components)
    return Plugin("odd", distribution, "1", "ok", "", made)


@pytest.fixture
def compose(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Draft202012Validator, list[str]]]:
    """Return a function that composes the schema of ours and further plugins."""
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or _this())

    def make(*plugins: Plugin) -> tuple[Draft202012Validator, list[str]]:
        made = recipe_schema(Registry([*load_plugins(), *plugins]))
        Draft202012Validator.check_schema(made.value)
        return Draft202012Validator(made.value), made.problems

    return make


def _this() -> Any:
    return next(module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == __file__)


def takes(validator: Draft202012Validator, **options: Any) -> bool:
    return bool(validator.is_valid({**RECIPE, "tools": [{"kind": "odd", **options}]}))


ACCEPTED: list[dict[str, Any]] = [
    {},
    {"colour": "blue"},
    {"colour": "${env:C}"},
    {"either": "auto"},
    {"either": 3},
    {"mixed": 1},
    {"pair": [2, "b"]},
    {"pair": ["${env:N}", "b"]},
    {"several": [1, 1]},
    {"place": "here"},
    {"wait": 30},
    {"wait": "PT1M"},
    {"day": "2026-01-31"},
    {"url": "http://127.0.0.1:1/v1"},
    {"url": "${env:URL}"},
    {"short": "abc"},
    {"short": "${env:SHORT}"},
    {"coded": "b2"},
    {"coded": "${env:CODED}"},
    {"endless": 1},
    {"inner": {"needed": 1, "password": "${env:P}"}},
    {"inners": {"a": {"needed": "${env:N}"}}},
    {"typed": {"size": 3}},
    {"pet": {"pet": "cat", "lives": 8}},
    {"pet": None},
    {"tagged": 1},
    {"tagged": "1"},
    {"tagged": "one"},
    {"anything": [{"deep": None}]},
    {"key": "${env:KEY}"},
    {"keys": ["Bearer ${env:KEY}", ""]},
    {"variables": {"LANG": "C", "GITHUB_TOKEN": "${env:T}"}},
    {"from": 1},
]
REFUSED: list[dict[str, Any]] = [
    {"colour": "green"},
    {"either": "never"},
    {"mixed": 2},
    {"pair": [2]},
    {"pair": [2, "b", 3]},
    {"pair": ["a", "b"]},
    {"several": {}},
    {"short": "abcd"},
    {"coded": "22"},
    {"inner": {}},
    {"inner": {"needed": 1, "password": "hunter2"}},
    {"inners": {"a": {"needed": 1, "more": 1}}},
    {"typed": {"size": "x"}},
    {"pet": {"pet": "cow"}},
    {"pet": {"pet": "dog", "lives": 8}},
    {"tagged": None},
    {"key": "hunter2"},
    {"keys": ["${env:KEY}", "hunter2"]},
    {"variables": {"GITHUB_TOKEN": "abc"}},
    {"variables": {"LANG": "sk-abc"}},
    {"other": 1},
]


def test_many_types(compose: Any) -> None:
    validator, problems = compose(offering(("tool", "odd", f"{__name__}:Options")))
    assert problems == []
    assert [options for options in ACCEPTED if not takes(validator, **options)] == []
    assert [options for options in REFUSED if takes(validator, **options)] == []


@pytest.mark.parametrize("options", [options for options in ACCEPTED if "${env" not in str(options)], ids=str)
def test_the_model_itself_accepts_the_same(options: dict[str, Any]) -> None:
    Options.model_validate(options)


def test_secret_and_endless_defaults_are_not_shown() -> None:
    properties = option_schema(Options)["properties"]
    assert "default" not in properties["key"] and "default" not in properties["endless"]
    assert properties["coded"]["markdownDescription"] == 'Letter and digit.\n\nDefault: `"a1"`'


def test_models_of_one_name_in_one_plugin_stay_apart(compose: Any) -> None:
    validator, _ = compose(offering(("tool", "odd", f"{__name__}:Options"), ("tool", "two", f"{__name__}:Options2")))
    for kind, good, bad in (("odd", {"needed": 1}, {"other": 1}), ("two", {"other": 1}, {"needed": 1})):
        assert validator.is_valid({**RECIPE, "tools": [{"kind": kind, "inner": good}]})
        assert not validator.is_valid({**RECIPE, "tools": [{"kind": kind, "inner": bad}]})


def test_a_model_that_holds_itself(compose: Any) -> None:
    validator, _ = compose(offering(("tool", "odd", f"{__name__}:Tree")))
    assert takes(validator, value=1, below=[{"below": [{"value": 2}]}])
    assert not takes(validator, below=[{"below": [{"valu": 2}]}])
    assert not takes(validator, below=[{"kind": "odd"}])


def test_what_has_no_schema_takes_any_options_and_is_said(compose: Any) -> None:
    names = ("Broken", "Listed", "Missing")
    offered: list[tuple[Kind, str, str]] = [("tool", name.lower(), f"{__name__}:{name}") for name in names]
    validator, problems = compose(offering(*offered))
    assert [line.partition(": ")[0].partition(" cannot")[0] for line in problems] == [
        "tool 'broken' of aworld-odd failed while making its JSON Schema",
        "tool 'missing' of aworld-odd",
    ]
    assert "no schema today; any options are taken for it" in problems[0] and "left out" in problems[1]
    for kind, taken in (("broken", True), ("listed", True), ("missing", False), ("calculator", False)):
        assert validator.is_valid({**RECIPE, "tools": [{"kind": kind, "x": 1}]}) is taken, kind


def test_options_that_are_a_mapping_of_any_keys(compose: Any) -> None:
    validator, _ = compose(offering(("tool", "odd", f"{__name__}:Bag")))
    assert takes(validator, x=1) and not takes(validator, x="y")


def test_of_two_components_with_one_name_each_is_named_with_its_distribution(compose: Any) -> None:
    offered = ("tool", "calculator", f"{__name__}:Tree")
    validator, _ = compose(offering(offered))
    for kind, option, taken in (
        ("calculator", {}, False),
        ("aworld-odd/calculator", {"value": 1}, True),
        ("aworld-odd/calculator", {"call_timeout": 1}, False),
        ("aworld-toolbox/calculator", {"call_timeout": 1}, True),
    ):
        assert validator.is_valid({**RECIPE, "tools": [{"kind": kind, **option}]}) is taken, (kind, option)


def test_the_order_in_which_plugins_are_found_changes_nothing() -> None:
    plugins = [*load_plugins(), offering(("tool", "odd", "aworld_cli.tool.stdio:StdioConfig"))]
    one, two = (recipe_schema(Registry(found)).value for found in (plugins, plugins[::-1]))
    assert str(one) == str(two)


PARTIAL: list[dict[str, Any]] = [
    {},
    {"environment": {"digits": 2}},
    {"model": {"kind": "openai"}},
    {"model": {"create": {}}},
]


@pytest.mark.parametrize("rest", PARTIAL, ids=str)
def test_a_file_that_extends_another_may_leave_out_what_is_required(compose: Any, rest: dict[str, Any]) -> None:
    validator, _ = compose()
    assert validator.is_valid({"extends": "base.yaml", **rest})
    assert validator.is_valid({"extends": ["a.yaml", "b.yaml"], **rest})
    assert not validator.is_valid(rest)


NO_BASES: list[dict[str, Any]] = [{"extends": wrong} for wrong in ([], 1, "", "${env:BASE}", None, [1])]
WRONG: list[dict[str, Any]] = [
    {"digits": 2},
    {"tools": [{}]},
    {"environment": {"kind": "arithmetic", "digit": 2}},
    {"stages": []},
]


def test_what_a_file_that_extends_another_must_not_say(compose: Any) -> None:
    validator, _ = compose()
    assert [wrong for wrong in NO_BASES if validator.is_valid({**RECIPE, **wrong})] == []
    assert [wrong for wrong in WRONG if validator.is_valid({"extends": "base.yaml", **wrong})] == []


# Patterns

DIGITS = st.text("0123456789_.eE+- \t", max_size=8)
WORDS = st.sampled_from(
    ["true", "False", "ON", "oFF", "y", "n", "T", "inf", "-Infinity", "nan", "+NaN", "yes", "no", "0"]
)


@pytest.mark.parametrize(("name", "kind"), [("whole-number", int), ("any-number", float), ("on-off", bool)])
def test_what_pydantic_reads_in_quotes_is_taken(name: str, kind: type) -> None:
    adapter = TypeAdapter[Any](kind)
    pattern = re.compile(SHARED[name]["pattern"])

    @settings(max_examples=300, deadline=None)
    @given(st.one_of(DIGITS, WORDS))
    def check(text: str) -> None:
        try:
            adapter.validate_python(text)
        except ValueError:
            return
        odd = re.search(r"[0-9_.][-+]", text)  # pydantic reads `0-0` as 0; nobody writes it
        assert odd or pattern.search(text), text

    check()


PARTS = [
    "auth",
    "Author",
    "AUTHORIZ",
    "-",
    "_",
    "key",
    "KEYS",
    "a",
    "Pwd",
    "token",
    "Tokens",
    "x",
    "sk-",
    "Bearer ",
    "hf_",
]
PARTS += ["://", ":", "@", "/", "u", "p", "Basic", " ", "HF_", "b", "secret", "xoxb-", "1"]


@given(st.lists(st.sampled_from(PARTS), max_size=5).map("".join))
def test_a_pattern_without_ignorecase_finds_the_same(text: str) -> None:
    assert bool(re.search(any_case(SECRET_NAME.pattern), text)) == speaks_of_secret(text)
    assert bool(re.search(any_case(SECRET_TEXT.pattern), text)) == looks_secret(text)
