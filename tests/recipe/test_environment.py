"""References to environment variables: what is one, what is none, and where the mistake is."""

from __future__ import annotations

import pytest

from aworld_cli.recipe.document import parse_document
from aworld_cli.recipe.environment import is_reference, resolve_environment


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:A}", "x"),
        ("a ${env:A} ${env:B:-y}!", "a x y!"),
        ("${env:B:-}", ""),
        ("${A} $A {env:A}", "${A} $A {env:A}"),
    ],
)
def test_references_are_replaced(text: str, value: str) -> None:
    document = parse_document(f"key: '{text}'", "r.yaml")
    assert resolve_environment(document, {"A": "x"}) == ({"key": value}, [])


@pytest.mark.parametrize(
    "text",
    [
        "${env:}",
        "${env:1A}",
        "${env:A",
        "${env: A}",
        "${env:A-x}",
        "${env:A:x}",
        "${env:A:-${env:B}}",
        "${env:A} ${env:",
    ],
)
def test_what_is_not_well_formed_is_an_error_with_its_place(text: str) -> None:
    document = parse_document(f"outer:\n  key: '{text}'", "r.yaml")
    _, problems = resolve_environment(document, {"A": "x", "B": "y"})
    assert len(problems) == 1
    path, problem = problems[0]
    assert path == ("outer", "key") and str(problem).startswith("r.yaml:2:3: outer.key: ")
    assert "reference" in problem.message


def test_a_key_holds_no_reference() -> None:
    _, problems = resolve_environment(parse_document("a: 1\n'${env:A}': 2", "r.yaml"), {"A": "x"})
    assert [str(problem) for _, problem in problems] == ["r.yaml:2:1: ${env:A}: a key cannot hold a reference"]


def test_a_text_with_a_missing_variable_stays_as_it_is() -> None:
    value, problems = resolve_environment(parse_document('a: x${env:A}${env:B}\nb: ["${env:A}"]', "r.yaml"), {"A": "1"})
    assert value == {"a": "x${env:A}${env:B}", "b": ["1"]} and len(problems) == 1


def test_many_references_to_a_long_variable_are_bounded() -> None:
    document = parse_document("a: [" + ", ".join(["'${env:A}'"] * 200) + "]", "r.yaml")
    _, problems = resolve_environment(document, {"A": "x" * 100_000})
    assert "come to more than 8,000,000 characters" in problems[0][1].message


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("${env:A}", True),
        ("Bearer ${env:A}", True),
        ("${env:A:-}", True),
        ("${env:A:-sk-1}", False),
        ("${env:A", False),
        ("sk", False),
    ],
)
def test_what_counts_as_a_reference_to_a_secret(text: str, holds: bool) -> None:
    assert is_reference(text) is holds
