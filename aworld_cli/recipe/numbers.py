"""`true` and `false` are no numbers in a recipe, though Python and pydantic take them for 1 and 0."""

from __future__ import annotations

from decimal import Decimal
from types import NoneType
from typing import Literal, get_args, get_origin

from pydantic import SecretStr

from aworld_cli.recipe.leaves import Leaf
from aworld_cli.recipe.wording import expected

_NUMBERS = (int, float, complex, Decimal)
_NO_BOOLS = (*_NUMBERS, str, bytes, SecretStr, NoneType)  # pydantic itself refuses a bool for the last four


def bool_problem(leaf: Leaf) -> str | None:
    """Return what is wrong where a number is wanted and `true` or `false` stands; None when nothing is."""
    if not isinstance(leaf.value, bool) or not all(_takes_no_bool(option.type) for option in leaf.options):
        return None
    for option in leaf.options:
        if option.type in _NUMBERS:
            return expected("a whole number" if option.type is int else "a number", leaf.value)
        if get_origin(option.type) is Literal and leaf.value in get_args(option.type):
            return expected(" or ".join(map(repr, get_args(option.type))), leaf.value)
    return None


def _takes_no_bool(kind: object) -> bool:
    if get_origin(kind) is Literal:
        return not any(isinstance(value, bool) for value in get_args(kind))
    return kind in _NO_BOOLS
