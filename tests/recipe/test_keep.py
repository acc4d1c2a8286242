"""The expression language of `keep`."""

from __future__ import annotations

from typing import Any

import pytest

from aworld_cli.recipe.keep import compile_keep

RECORD: dict[str, Any] = {
    "grade": {"correct": True, "reward": 0.5},
    "outcome": "answered",
    "seconds": 2.5,
    "limit": None,
}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("grade.correct", True),
        ("not grade.correct", False),
        ("grade.reward >= 0.5 and seconds < 3", True),
        ("0 < grade.reward < 0.5", False),
        ("outcome in ['answered', 'limit']", True),
        ("limit == null", True),
        ("grade.missing > 3", False),
        ("nothing.at.all", False),
        ("outcome != 'answered' or -1 < grade.reward", True),
    ],
)
def test_keep(text: str, kept: bool) -> None:
    assert compile_keep(text)(RECORD) is kept


@pytest.mark.parametrize(
    "text", ["f()", "grade['x']", "1 +", "(lambda: 1)", "a if b else c", "x.y()", "f'{a}'", "a" * 3000]
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expression|allowed"):
        compile_keep(text)
