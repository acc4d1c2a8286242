"""The layers of a recipe: config.toml < bases < the file < variables < `--set`; every value keeps its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.errors import RecipeError, UsageError
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document, parse_document
from aworld_cli.recipe.layers import MAX_CHAIN, copies, merge, read_recipe
from aworld_cli.recipe.loading import load_plan, plan_document
from aworld_cli.recipe.plan import Plan

BASE = """\
aworld: 1
name: base
model: {kind: openai, model: m, api_key: "${env:KEY}", headers: {X-Title: base}}
environment: {kind: arithmetic, digits: 2}
runtime: {kind: local, concurrency: 4}
stages: [{eval: {split: test, tasks: 1}}]
"""
Write = Callable[..., Path]


@pytest.fixture(scope="module")
def registry() -> Registry:
    return Registry(load_plugins())


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings, in the test's directory."""
    monkeypatch.setenv("AWORLD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEY", "k-123456")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return Path("own.yaml")

    return write


def configure(tmp_path: Path, text: str) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "config.toml").write_text(text)


def problems(path: Path, *settings: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        plan_document(read_recipe(path, settings), Registry(load_plugins()))
    return [str(problem) for problem in caught.value.problems]


# -- merging --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("below", "above", "merged"),
    [
        ("a: {b: 1, c: 2}", "a: {c: 3, d: 4}", {"a": {"b": 1, "c": 3, "d": 4}}),
        ("a: {b: {c: {d: 1}}}", "a: {b: {c: {e: 2}}}", {"a": {"b": {"c": {"d": 1, "e": 2}}}}),
        ("a: [1, 2, 3]", "a: [4]", {"a": [4]}),
        ("a: [{b: 1}]", "a: [{c: 2}]", {"a": [{"c": 2}]}),
        ("a: {b: 1}", "a: 3", {"a": 3}),
        ("a: 3", "a: {b: 1}", {"a": {"b": 1}}),
        ("a: {b: 1}", "a:", {"a": None}),
        ("a: {b: 1}", "a: {}", {"a": {"b": 1}}),
        ("a: {b: 1}", "a: {b: ~}", {"a": {"b": None}}),
        ("model: {kind: x, a: 1}", "model: {kind: y, b: 2}", {"model": {"kind": "y", "b": 2}}),
        ("model: {kind: x, a: 1}", "model: {kind: x, b: 2}", {"model": {"kind": "x", "a": 1, "b": 2}}),
        ("model: {kind: x, a: 1}", "model: {b: 2}", {"model": {"kind": "x", "a": 1, "b": 2}}),
        ("model: {a: 1}", "model: {kind: x}", {"model": {"a": 1, "kind": "x"}}),
        ("runtime: {a: 1}", "runtime: {kind: local}", {"runtime": {"a": 1, "kind": "local"}}),
        ("runtime: {a: 1}", "runtime: {kind: ray}", {"runtime": {"kind": "ray"}}),
        ("a: {b: {kind: x, c: 1}}", "a: {b: {kind: y}}", {"a": {"b": {"kind": "y"}}}),
    ],
)
def test_what_a_merge_gives(below: str, above: str, merged: dict[str, Any]) -> None:
    low, high = parse_document(below, "low"), parse_document(above, "high")
    assert merge(low, high).value == merged
    assert low.value == parse_document(below, "low").value and high.value == parse_document(above, "high").value


def test_every_value_keeps_its_place() -> None:
    low = parse_document("a: {b: 1, c: 2}\nl: [1, 2]\nm: {kind: x, o: 1}", "low")
    high = parse_document("l: [3]\na:\n  c: 3\nm: {kind: y}", "high")
    found = merge(low, high)
    assert found.where(("a", "b")) == "low:1:5" and found.where(("a", "c")) == "high:3:3"
    assert found.where(("a",)) == "high:2:1" and found.where(("l", 0)) == "high:1:5"
    assert found.where(("l", 1)) == "high:1:1"  # the base's second item is gone, and its place with it
    assert found.where(("m", "o")) == "high:4:1"


# -- extends --------------------------------------------------------------------------------------------------


def test_extends(write: Write, registry: Registry) -> None:
    path = write(
        base=BASE,
        own="extends: base.yaml\nname: own\nmodel: {headers: {X-Title: own, Lang: en}}\nruntime: {concurrency: 8}\n",
    )
    plan = load_plan(path, registry)
    assert plan.recipe.name == "own" and "extends" not in plan.document.value
    assert plan.runtime.config.model_dump()["concurrency"] == 8
    assert plan.document.value["model"]["headers"] == {"X-Title": "own", "Lang": "en"}
    assert plan.document.where(("environment", "digits")) == "base.yaml:4:33"
    assert plan.document.where(("runtime", "concurrency")) == "own.yaml:4:11"
    assert plan.document.source == "own.yaml" and plan.document.text.startswith("extends: base.yaml")


def test_a_chain_is_relative_to_each_file_and_a_later_base_wins(write: Write) -> None:
    path = write(
        deep__low="seed: 1\nname: low\nsampling: {top_p: 0.1}",
        deep__mid="extends: low.yaml\nname: mid\nsampling: {max_tokens: 1}",
        other="name: other\nsampling: {max_tokens: 2}",
        own="extends: [deep/mid.yaml, other.yaml]\naworld: 1",
    )
    document = read_recipe(path)
    assert document.value == {
        "seed": 1,
        "name": "other",
        "sampling": {"top_p": 0.1, "max_tokens": 2},
        "aworld": 1,
    }
    assert document.where(("sampling", "top_p")) == "deep/low.yaml:3:12"
    assert list(copies(document)) == [
        "recipe.yaml",
        "recipe.d/01-low.yaml",
        "recipe.d/02-mid.yaml",
        "recipe.d/03-other.yaml",
    ]
    assert copies(document)["recipe.d/03-other.yaml"].startswith("name: other")


def test_a_file_that_is_reached_twice_counts_once(write: Write) -> None:
    path = write(
        low="name: low\nseed: 1",
        one="extends: low.yaml\nname: one",
        two="extends: low.yaml\nseed: 2",
        own="extends: [one.yaml, two.yaml]",
    )
    assert read_recipe(path).value == {"name": "one", "seed": 2}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"own": "extends: own.yaml"}, "own.yaml:1:1: extends: a file cannot extend itself: own.yaml -> own.yaml"),
        (
            {"own": "extends: b.yaml", "b": "extends: [c.yaml]", "c": "a: 1\nextends: ./b.yaml"},
            "c.yaml:2:1: extends: a file cannot extend itself: b.yaml -> c.yaml -> b.yaml",
        ),
        ({"own": "aworld: 1\nextends: nope.yaml"}, "own.yaml:2:1: extends: there is no file nope.yaml"),
        ({"own": "extends: [b.yaml, nope.yaml]", "b": ""}, "own.yaml:1:19: extends[1]: there is no file nope.yaml"),
        ({"own": "extends: [b.yaml]", "b": "- 1"}, "b.yaml: a recipe is a mapping of keys to values"),
        ({"own": "extends: b.yaml", "b": "a: ["}, "b.yaml:1:5: not valid YAML"),
        ({"own": "extends: ."}, "cannot be read: Is a directory"),
        ({"own": "extends: 3"}, "own.yaml:1:1: extends: the path of a recipe file is expected"),
        ({"own": "extends:"}, "own.yaml:1:1: extends: the path of a recipe file is expected"),
        ({"own": "extends: []"}, "own.yaml:1:1: extends: the path of a recipe file is expected"),
        ({"own": "extends: [b.yaml, ~]", "b": "a: 1"}, "own.yaml:1:19: extends[1]: the path of a recipe file"),
        ({"own": "extends: '${env:X}.yaml'"}, "own.yaml:1:1: extends: the path of a recipe file is expected"),
        ({"own": 'extends: "a\\0b"'}, "own.yaml:1:1: extends: the path of a recipe file is expected"),
        ({"own": f"extends: {'x' * 300}"}, "cannot be read: File name too long"),
        ({"own": "extends: {a: b}"}, "own.yaml:1:1: extends: the path of a recipe file is expected"),
    ],
)
def test_a_wrong_extends(files: dict[str, str], expected: str, write: Write) -> None:
    with pytest.raises(RecipeError) as caught:
        read_recipe(write(**files))
    assert expected in str(caught.value)


def test_a_chain_is_bounded(write: Write) -> None:
    files = {f"f{n}": f"extends: f{n + 1}.yaml" for n in range(MAX_CHAIN + 2)}
    with pytest.raises(RecipeError, match=rf"f{MAX_CHAIN - 1}\.yaml:1:1: extends: more than {MAX_CHAIN} files"):
        read_recipe(write(own="extends: f0.yaml", **files))


def test_many_files_are_bounded(write: Write) -> None:
    names = [f"f{n}" for n in range(60)]
    own = f"extends: [{', '.join(f'{name}.yaml' for name in names)}]"
    with pytest.raises(RecipeError, match="more than 50 files in all"):
        read_recipe(write(own=own, **dict.fromkeys(names, "a: 1")))


def test_the_mistakes_of_all_files_come_at_once_each_with_its_own_place(write: Write) -> None:
    path = write(
        base=BASE.replace("digits: 2", "digit: 2").replace("concurrency: 4", "concurrency: 4, concurrency: 5"),
        own="extends: base.yaml\nname: My Run\nsampling: {top_p: 2}\nseed: 1\nseed: 2",
    )
    assert [problem.split(": ", 2)[:2] for problem in problems(path)] == [
        ["own.yaml:2:1", "name"],
        ["own.yaml:3:12", "sampling.top_p"],
        ["own.yaml:5:1", "seed"],
        ["base.yaml:4:33", "environment.digit"],
        ["base.yaml:5:40", "runtime.concurrency"],
    ]


def test_files_that_cannot_be_read_are_told_together(write: Write) -> None:
    path = write(own="extends: [b.yaml, c.yaml, d.yaml]\nseed: 1\nseed: 2", b="a: [", c="a: {")
    assert [problem[:8].rstrip(":") for problem in problems(path)] == ["own.yaml", "own.yaml", "b.yaml:1", "c.yaml:1"]


def test_a_literal_secret_in_a_base_is_refused_whatever_covers_it(write: Write) -> None:
    base = BASE.replace('"${env:KEY}"', "sk-hidden-1")
    covered = 'extends: base.yaml\nmodel: {api_key: "${env:KEY}"}'
    other = "extends: base.yaml\nmodel: {kind: arithmetic-teacher}"
    unnamed = "extends: [base.yaml, key.yaml]\nmodel: {kind: openai, api_key: '${env:KEY}'}"
    for own, place in ((covered, "base.yaml:3:33"), (other, "base.yaml:3:33"), (unnamed, "key.yaml:1:9")):
        path = write(base=base if own != unnamed else BASE, own=own, key="model: {api_key: sk-hidden-2}")
        found = problems(path)
        assert len(found) == 1 and found[0].startswith(f"{place}: model.api_key: a secret is never written")
        assert "hidden" not in found[0]


def test_a_recipe_that_comes_by_a_pipe_extends_from_the_current_directory(
    write: Write, registry: Registry, tmp_path: Path
) -> None:
    import os

    write(base=BASE)
    read, written = os.pipe()
    os.write(written, b"extends: base.yaml\nname: piped\n")
    os.close(written)
    try:
        assert load_plan(Path(f"/dev/fd/{read}"), registry).recipe.name == "piped"
    finally:
        os.close(read)


# -- variables ------------------------------------------------------------------------------------------------


def changed(text: str, **variables: str) -> Document:
    path = Path("own.yaml")
    path.write_text(text)
    return read_recipe(path, environ={f"AWORLD_RECIPE__{name}": value for name, value in variables.items()})


ONE, TWO = "stages: [{rollout: {name: teach-er}}", "{eval: {k: [1]}}"


def changed_stages(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    return {"stages": [{"rollout": {"name": "teach-er", **one}}, {"eval": {"k": [1], **two}}]}


@pytest.mark.parametrize(
    ("text", "variables", "expected"),
    [
        ("seed: 1", {"SEED": "7"}, {"seed": 7}),
        ("a: 1", {"RUNTIME__CONCURRENCY": "16"}, {"a": 1, "runtime": {"concurrency": 16}}),
        ("model: {topK: 1}", {"MODEL__TOPK": "2"}, {"model": {"topK": 2}}),
        ("model: {a-b: 1}", {"model__a_b": "2"}, {"model": {"a-b": 2}}),
        ("a: 1", {"A": ""}, {"a": 1}),
        ("a: 1", {"A": "~"}, {"a": None}),
        ("a: 1", {"A": "[x, {y: no}]"}, {"a": ["x", {"y": "no"}]}),
        ("a: 1", {"B__C": "2", "B": "{d: 1}"}, {"a": 1, "b": {"d": 1, "c": 2}}),
        (f"{ONE}, {TWO}]", {"STAGES__EVAL__TASKS": "3"}, changed_stages({}, {"tasks": 3})),
        (f"{ONE}, {TWO}]", {"STAGES__TEACH_ER__TASKS": "3"}, changed_stages({"tasks": 3}, {})),
        (f"{ONE}, {TWO}]", {"STAGES__1__EVAL__K__0": "2"}, changed_stages({}, {"k": [2]})),
        ("model: {kind: x, a: 1}", {"MODEL__KIND": "y", "MODEL__B": "2"}, {"model": {"kind": "y", "b": 2}}),
    ],
)
def test_variables(text: str, variables: dict[str, str], expected: dict[str, Any]) -> None:
    assert changed(text, **variables).value == expected


def test_the_place_of_a_variable_is_its_name() -> None:
    document = changed("seed: 1", SEED="7")
    assert document.where(("seed",)) == "AWORLD_RECIPE__SEED" and document.place(("seed",)).layer == "variable"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"SEED": "[hidden"}, "AWORLD_RECIPE__SEED: the value is not valid YAML"),
        ({"": "hidden"}, "AWORLD_RECIPE__: write it as AWORLD_RECIPE__KEY__PATH"),
        ({"A____B": "hidden"}, "AWORLD_RECIPE__A____B: write it as"),
        ({"SEED__X": "hidden"}, "AWORLD_RECIPE__SEED__X: seed is a plain value, it has no 'x'"),
        ({"STAGES__EVL__K": "hidden"}, "AWORLD_RECIPE__STAGES__EVL__K: stages has no item 'evl'; it is a list of 2"),
        ({"__".join("a" * 3000): "hidden"}, "a path of more than 100 keys"),
        ({"EXTENDS": "hidden"}, "AWORLD_RECIPE__EXTENDS: `extends` is read from the recipe file alone"),
        ({"SEED": "1", "seed": "2"}, "the variables AWORLD_RECIPE__SEED and AWORLD_RECIPE__seed say the same key"),
        ({"MODEL__A_B": "1"}, "AWORLD_RECIPE__MODEL__A_B: model has the keys a-b and A_B, which a variable cannot"),
    ],
)
def test_a_wrong_variable(variables: dict[str, str], expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        changed(f"seed: 1\nmodel: {{a-b: 1, A_B: 2}}\n{ONE}, {TWO}]", **variables)
    assert expected in str(caught.value) and "hidden" not in str(caught.value)


def test_a_variable_of_a_key_that_is_not_there_is_a_mistake_of_its_own(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWORLD_RECIPE__RUNTIM__CONCURRENCY", "8")
    monkeypatch.setenv("AWORLD_RECIPE__ENVIRONMENT__DIGITS", "many")
    monkeypatch.setenv("AWORLD_RECIPE__MODEL__API_KEY", "sk-hidden-1")
    found = "\n".join(problems(write(own=BASE)))
    assert "AWORLD_RECIPE__RUNTIM__CONCURRENCY: runtim: unknown key; did you mean 'runtime'?" in found
    assert "AWORLD_RECIPE__ENVIRONMENT__DIGITS: environment.digits: a whole number is expected, got text" in found
    assert "AWORLD_RECIPE__MODEL__API_KEY: model.api_key: a secret is never written in a recipe" in found
    assert "hidden" not in found and "many" not in found


# -- config.toml ----------------------------------------------------------------------------------------------


def test_config_is_below_the_recipe(write: Write, tmp_path: Path, registry: Registry) -> None:
    configure(
        tmp_path,
        "runs_dir = 'x'\n[recipe]\nseed = 5\n[recipe.runtime]\nconcurrency = 99\nattempts = 2\n"
        "[recipe.model]\nkind = 'local'\npath = 'x'\n[recipe.sampling]\ntop_p = 0.5\n",
    )
    plan: Plan = load_plan(write(own=BASE), registry)
    assert plan.document.value["runtime"] == {"concurrency": 4, "attempts": 2, "kind": "local"}
    assert plan.model.config.model_dump()["model"] == "m"  # of another kind, so config.toml's is left
    assert plan.recipe.seed == 5 and plan.recipe.sampling.top_p == 0.5
    assert plan.document.where(("sampling", "top_p")) == f"{tmp_path}/home/config.toml:11:1"
    assert plan.document.place(("runtime", "attempts")).layer == "config"


def test_options_of_a_default_component_need_no_kind(write: Write, tmp_path: Path, registry: Registry) -> None:
    configure(tmp_path, "[recipe.runtime]\nconcurrency = 3\n[recipe.agent]\nmax_turns = 2")
    plan = load_plan(write(own=BASE.replace("runtime: {kind: local, concurrency: 4}\n", "")), registry)
    assert plan.runtime.config.model_dump()["concurrency"] == 3
    assert plan.agent.config.model_dump()["max_turns"] == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recipe = 3", "config.toml:1:1: recipe: a table of recipe keys is expected"),
        ("[recipe]\nextends = 'x'", "config.toml:2:1: recipe.extends: only a recipe file extends another"),
        ("[recipe.model]\npath = 'x'", "config.toml:1:1: recipe.model: say the `kind` that these options are for"),
        ("[recipe.sampling]\n\ntop_p = 2026-01-01", "config.toml:3:1: recipe.sampling.top_p: recipes have no dates"),
        (f"[recipe]\nseed = {'9' * 301}", "config.toml:2:1: recipe.seed: a number of more than 300 digits"),
    ],
)
def test_what_config_must_not_say(text: str, expected: str, write: Write, tmp_path: Path) -> None:
    configure(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        read_recipe(write(own=BASE))
    assert expected in str(caught.value)


def test_a_wrong_value_of_config_names_its_line(write: Write, tmp_path: Path) -> None:
    configure(tmp_path, "[recipe]\nnmae = 'x'\n\n[recipe.runtime]\nattempts = 'many'")
    found = "\n".join(problems(write(own=BASE)))
    assert "config.toml:2:1: nmae: unknown key; did you mean 'name'?" in found
    assert "config.toml:5:1: runtime.attempts: a whole number is expected, got 'many'" in found


def test_precedence(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["concurrency", "attempts", "episode_timeout", "retry_pause", "a"]

    def layer(value: int, count: int) -> str:
        return "\n".join(f"  {name}: {value}" for name in names[:count])

    configure(tmp_path, "[recipe.runtime]\n" + "\n".join(f"{name} = 1" for name in names))
    path = write(base=f"runtime:\n{layer(2, 4)}", own=f"extends: base.yaml\nruntime:\n{layer(3, 3)}")
    for name in names[:2]:
        monkeypatch.setenv(f"AWORLD_RECIPE__RUNTIME__{name.upper()}", "4")
    document = read_recipe(path, ["runtime.concurrency=5"])
    assert document.value["runtime"] == dict(zip(names, (5, 4, 3, 2, 1), strict=True))
    layers = [document.place(("runtime", name)).layer for name in names]
    assert layers == ["flag", "variable", "recipe", "recipe", "config"]


def test_a_recipe_without_layers_is_what_it_says(write: Write) -> None:
    document = read_recipe(write(own=BASE))
    assert document.value == parse_document(BASE, "x").value and copies(document) == {"recipe.yaml": BASE}
