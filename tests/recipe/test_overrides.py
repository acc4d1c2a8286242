"""`--set`: where values go, whose fault an error is, and that no value is shown."""

from __future__ import annotations

from typing import Any

import pytest

from aworld_cli.errors import UsageError
from aworld_cli.recipe.document import parse_document
from aworld_cli.recipe.overrides import apply_overrides

TEXT = "name: x\nmodel: {kind: a, size: 1}\ntools: [{kind: t, n: 1}]\nstages: [{eval: {k: [1, 2]}}, {sft: }]\n"


def changed(*settings: str) -> Any:
    document = parse_document(TEXT, "r.yaml")
    apply_overrides(document, list(settings))
    return document.value


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("name=a: b", "name", {"a": "b"}),
        ("name=a\nb: c", "name", None),
        ("name='a\n\n  b'", "name", "a\nb"),
        ("name=[1,\n 2]", "name", [1, 2]),
        ("name=x: 1\ny: 2", "name", {"x": 1, "y": 2}),
        ("name=|\n  two\n  lines", "name", "two\nlines"),
        ("name=", "name", None),
        ("name=a=b", "name", "a=b"),
    ],
)
def test_the_value_is_one_yaml_document(setting: str, key: str, value: object) -> None:
    if setting == "name=a\nb: c":
        with pytest.raises(UsageError):
            changed(setting)
    else:
        assert changed(setting)[key] == value


def test_paths() -> None:
    assert changed("tools.t.n=2")["tools"] == [{"kind": "t", "n": 2}]
    assert changed("stages.sft.steps=3")["stages"][1] == {"sft": {"steps": 3}}
    assert changed("stages.0.k=4", "stages.0.eval.n=5")["stages"][0] == {"eval": {"k": 4, "n": 5}}
    assert changed("runtime.kind=local")["runtime"] == {"kind": "local"}


@pytest.mark.parametrize(
    "settings",
    [
        ["nonsense-hidden"],
        ["=hidden"],
        ["a..b=hidden"],
        ["name=[hidden"],
        ["name=*hidden"],
        ["name=!hidden x"],
        ["name=!!int hidden"],
        ["name={hidden: 1, hidden: 2}"],
        ["name=hidden\n---\nhidden"],
        ["name=" + "[" * 3000 + "hidden"],
        ["name.x=hidden"],
        ["stages.0=3", "stages.0.tasks=hidden"],
        ["stages=[null]", "stages.0.tasks=hidden"],
        ["stages=[[1]]", "stages.0.tasks=hidden"],
        ["stages.².tasks=hidden"],
        ["stages.9.tasks=hidden"],
        ["stages." + "9" * 5000 + "=hidden"],
    ],
)
def test_errors_of_the_command_line_show_no_value(settings: list[str]) -> None:
    with pytest.raises(UsageError, match="--set") as caught:
        changed(*settings)
    assert "hidden" not in str(caught.value)


def test_the_origin_of_a_value_is_its_place() -> None:
    document = parse_document(TEXT, "r.yaml")
    apply_overrides(document, ["model={kind: b}", "stages.eval.k=[1]", "new.deep=1"])
    assert document.where(("name",)) == "r.yaml:1:1"
    assert document.where(("model", "kind")) == "--set model"
    assert document.where(("model",)) == "--set model"
    assert document.where(("stages", 0, "eval", "k", 0)) == "--set stages.eval.k"
    assert document.where(("stages", 0, "eval", "x")) == "r.yaml:4:11"
    assert document.where(("new",)) == "--set new.deep"


@pytest.mark.parametrize(
    ("settings", "model"),
    [
        (["model.kind=b"], {"kind": "b"}),
        (["model.kind=a"], {"kind": "a", "size": 1}),
        (["model.kind=b", "model.n=2"], {"kind": "b", "n": 2}),
        (["model.n=2", "model.kind=b"], {"n": 2, "kind": "b"}),
        (["model={kind: c, n: 1}", "model.kind=b"], {"kind": "b", "n": 1}),
    ],
)
def test_another_kind_drops_the_options_of_the_one_before(settings: list[str], model: dict[str, Any]) -> None:
    document = parse_document(TEXT, "r.yaml")
    apply_overrides(document, settings)
    assert document.value["model"] == model
    assert ("model", "size") not in document.marks or model.get("size")


def test_another_trainer_keeps_the_settings_of_its_stage() -> None:
    document = parse_document("stages: [{train: {kind: verl, steps: 3}}]", "r.yaml")
    apply_overrides(document, ["stages.train.kind=other"])
    assert document.value["stages"] == [{"train": {"kind": "other", "steps": 3}}]


def test_items_that_cannot_be_told_apart() -> None:
    text = "stages: [{eval: {k: [1]}}, {eval: {name: base}}]\ntools: [{kind: t}, {kind: t, name: two}]"
    document = parse_document(text, "r.yaml")
    apply_overrides(document, ["stages.base.k=[2]", "tools.two.n=1", "stages.0.k=[3]"])
    assert document.value["stages"] == [{"eval": {"k": [3]}}, {"eval": {"name": "base", "k": [2]}}]
    assert document.value["tools"][1] == {"kind": "t", "name": "two", "n": 1}
    for setting in ("stages.eval.k=[1]", "tools.t.n=1"):
        with pytest.raises(UsageError, match=r"has 2 items '.*'; say which by its index, from 0, or its `name`"):
            apply_overrides(document, [setting])


def test_all_wrong_settings_are_told_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        changed("stages.evl.k=1", "name=x", "x", "extends=y")
    assert str(caught.value).splitlines() == [
        "--set stages.evl.k: stages has no item 'evl'; it is a list of 2; did you mean 'eval'?",
        "--set takes key.path=value; there is one without `=`",
        "--set extends: `extends` is read from the recipe file alone",
    ]
