"""A secret in so many words is refused wherever a model has one, and the refusal does not show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NotRequired

import pytest
from pydantic import BaseModel, Field, RootModel, SecretStr
from typing_extensions import TypeAliasType, TypedDict

from aworld_cli.errors import RecipeError
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe import NamedValue
from aworld_cli.recipe.leaves import leaves
from aworld_cli.recipe.loading import load_plan
from aworld_cli.recipe.numbers import bool_problem
from aworld_cli.recipe.secrets import is_literal_secret, looks_secret, speaks_of_secret
from tests.conftest import Aworld

RECIPE = """\
aworld: 1
name: test
model:
  kind: openai
  model: m
  api_key: ${env:KEY}
tools: [{kind: stdio, command: server}]
environment: {kind: arithmetic}
stages: [{eval: {split: test, tasks: 1}}]
"""


class Inner(BaseModel):
    password: SecretStr | None = None
    plain: str = ""


class Listed(RootModel[list[SecretStr]]):
    pass


class Typed(TypedDict):
    key: NotRequired[SecretStr]


@dataclass
class Data:
    key: SecretStr | None = None


Alias = TypeAliasType("Alias", list[SecretStr])


class Options(BaseModel):
    one: SecretStr
    optional: SecretStr | None = None
    marked: Annotated[SecretStr, Field(description="x")]
    by_name: dict[str, SecretStr] = {}
    nested: dict[str, list[Annotated[SecretStr | None, Field()]]] = {}
    pair: tuple[int, SecretStr] | None = None
    inner: Inner | None = None
    many: list[Inner] = []
    root: Listed | None = None
    typed: Typed | None = None
    data: Data | None = None
    alias: Alias | None = None
    renamed: SecretStr | None = Field(None, alias="from")
    headers: dict[str, NamedValue] = {}
    plain: str = ""


def literal(value: dict[str, Any]) -> list[tuple[str | int, ...]]:
    return [leaf.path for leaf in leaves(Options, value) if is_literal_secret(leaf)]


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"one": "sk"}, ("one",)),
        ({"one": 12}, ("one",)),
        ({"optional": "sk"}, ("optional",)),
        ({"marked": "sk"}, ("marked",)),
        ({"by_name": {"a": "${env:A}", "b": "sk"}}, ("by_name", "b")),
        ({"nested": {"a": ["${env:A}", None, "sk"]}}, ("nested", "a", 2)),
        ({"pair": [1, "sk"]}, ("pair", 1)),
        ({"inner": {"password": "sk", "plain": "sk"}}, ("inner", "password")),
        ({"many": [{"plain": "x"}, {"password": "sk"}]}, ("many", 1, "password")),
        ({"root": ["sk"]}, ("root", 0)),
        ({"from": "sk"}, ("from",)),
        ({"typed": {"key": "sk"}}, ("typed", "key")),
        ({"data": {"key": "sk"}}, ("data", "key")),
        ({"alias": ["${env:A}", "sk"]}, ("alias", 1)),
        ({"one": "${env:A:-sk}"}, ("one",)),
        ({"one": "${env:A} ${env:B:-sk}"}, ("one",)),
        ({"one": "${env:A"}, ("one",)),
        ({"headers": {"X-Title": "tests", "Authorization": "Bearer x"}}, ("headers", "Authorization")),
        ({"headers": {"X-Title": "sk-abcdef"}}, ("headers", "X-Title")),
        ({"headers": {"DATABASE_URL": "postgres://me:pw@host/db"}}, ("headers", "DATABASE_URL")),
    ],
)
def test_a_literal_is_found_in_any_nesting(value: dict[str, Any], path: tuple[str | int, ...]) -> None:
    assert literal(value) == [path]


@pytest.mark.parametrize(
    "value",
    [
        {"one": "${env:A}"},
        {"one": "Bearer ${env:A}"},
        {"one": ""},
        {"optional": None},
        {"plain": "sk", "unknown": "sk"},
        {"inner": "not a mapping"},
        {"by_name": {"a": "${env:A}"}},
        {"headers": {"X-Title": "tests", "Authorization": "Bearer ${env:A}", "LANG": "sk_SK.UTF-8"}},
    ],
)
def test_what_is_no_literal_secret(value: dict[str, Any]) -> None:
    assert literal(value) == []


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "Proxy-Authorization",
        "Cookie",
        "X-Api-Key",
        "api-key",
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "DB_PWD",
        "AWS_SECRET_ACCESS_KEY",
        "X-Auth-Token",
        "apikey",
    ],
)
def test_names_that_speak_of_a_credential(name: str) -> None:
    assert speaks_of_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "LANG",
        "PATH",
        "PWD",
        "X-Title",
        "HTTP-Referer",
        "User-Agent",
        "GIT_AUTHOR_NAME",
        "TOKENIZERS_PARALLELISM",
        "MAX_TOKENS",
        "KEYBOARD",
        "MONKEY",
        "OpenAI-Organization",
    ],
)
def test_names_that_do_not(name: str) -> None:
    assert not speaks_of_secret(name)


def test_values_that_look_like_one() -> None:
    assert all(map(looks_secret, ["Bearer x", "basic dXNlcg==", "sk-proj", "ghp_x"]))
    assert not any(map(looks_secret, ["bearer", "skip", 3, "https://host:80/path@x"]))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry(load_plugins())


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("${env:KEY}", "sk-hidden-1", "model.api_key"),
        ("${env:KEY}", "${env:NONE:-sk-hidden-1}", "model.api_key"),
        ("model: m", "model: m\n  headers: {Authorization: Bearer sk-hidden-1}", "model.headers.Authorization"),
        ("command: server", "command: server, env: {MY_TOKEN: sk-hidden-1}", "tools[0].env.MY_TOKEN"),
    ],
)
def test_a_recipe_with_one_is_refused(
    old: str, new: str, key: str, tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "k-123456")
    path = tmp_path / "r.yaml"
    path.write_text(RECIPE.replace(old, new))
    with pytest.raises(RecipeError) as caught:
        load_plan(path, registry)
    assert f"{key}: a secret is never written in a recipe" in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_one_that_a_setting_covers_is_refused_too_since_the_file_is_copied(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "k-123456")
    path = tmp_path / "r.yaml"
    path.write_text(RECIPE.replace("${env:KEY}", "sk-hidden-1"))
    with pytest.raises(RecipeError, match=r"model\.api_key: a secret is never"):
        load_plan(path, registry, ["model.api_key='${env:KEY}'"])


def test_plain_headers_and_variables_are_fine(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "k-123456")
    path = tmp_path / "r.yaml"
    text = RECIPE.replace("model: m", "model: m\n  headers: {X-Title: tests, Authorization: 'Bearer ${env:KEY}'}")
    path.write_text(text.replace("command: server", "command: server, env: {LANG: C}"))
    plan = load_plan(path, registry)
    headers = plan.model.config.headers  # type: ignore[attr-defined]
    assert {name: value.get_secret_value() for name, value in headers.items()} == {
        "X-Title": "tests",
        "Authorization": "Bearer k-123456",
    }
    assert plan.tools[0].make().env == {"LANG": "C"}


class Numbers(BaseModel):
    count: int = 0
    maybe: int | None = None
    rate: dict[str, float] = {}
    flag: bool = False
    either: int | bool = 0
    anything: Any = None


@pytest.mark.parametrize("value", [{"count": True}, {"maybe": False}, {"rate": {"x": True}}])
def test_true_is_no_number(value: dict[str, Any]) -> None:
    assert [bool_problem(leaf) is not None for leaf in leaves(Numbers, value)] == [True]


@pytest.mark.parametrize("value", [{"count": 1}, {"flag": True}, {"either": True}, {"anything": True}, {"other": True}])
def test_true_is_fine_where_it_may_stand(value: dict[str, Any]) -> None:
    assert [bool_problem(leaf) for leaf in leaves(Numbers, value)] == [None]


@pytest.mark.parametrize(
    ("setting", "code"),
    [
        ("stages.eval.split=${env:HIDDEN}", 4),
        ("tools=[{kind: stdio, command: '${env:HIDDEN}'}]", 6),
        ("tools=[{kind: stdio, command: cat, name: t, cwd: '/${env:HIDDEN}'}]", 6),
        ("model={kind: local, path: '${env:HIDDEN}'}", 6),
    ],
)
def test_a_variable_that_stands_where_no_secret_is_expected_is_not_said(
    setting: str, code: int, aworld: Aworld, teacher_recipe: Callable[..., Path]
) -> None:
    recipe = teacher_recipe(tasks=1)
    for command in (["validate"], ["run", "--dry-run"], ["run"]):
        done = aworld(*command, recipe, "--set", setting, env={"HIDDEN": "zq7value"})
        assert "zq7value" not in done.stdout + done.stderr, command
    assert done.returncode == code and "${env:HIDDEN}" in done.stderr
