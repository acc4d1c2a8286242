"""A small, safe expression language over a record's fields: `grade.correct and turns <= 2`.

Python's grammar, a fixed set of nodes, no calls, no attribute access on objects: a name or a dotted path reads the
record's JSON; a missing field is None.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_NAMES = {"true": True, "false": False, "null": None}


def compile_keep(text: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return the predicate that `text` describes.

    Raises:
        ValueError: the text is not an expression of this language.
    """
    if len(text) > 2_000:
        raise ValueError("the expression is longer than 2,000 characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is not an expression such as `grade.correct and turns <= 2`") from error
    _check(tree)

    def keep(record: Mapping[str, Any]) -> bool:
        try:
            return bool(_value(tree, record))
        except TypeError:  # comparing with a field that is missing
            return False

    return keep


def _check(node: ast.expr) -> None:
    match node:
        case ast.BoolOp(values=values):
            for value in values:
                _check(value)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            _check(operand)
        case ast.Compare(left=left, ops=ops, comparators=others):
            for op in ops:
                if type(op) not in _COMPARE:
                    raise ValueError("only == != < <= > >= in and not in compare")
            for part in (left, *others):
                _check(part)
        case ast.Constant(value=bool() | int() | float() | str() | None) | ast.Name():
            pass
        case ast.Attribute(value=ast.Name() | ast.Attribute() as inner):
            _check(inner)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            for item in items:
                _check(item)
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not allowed: fields, values, comparisons, and, or, not")


def _value(node: ast.expr, record: Mapping[str, Any]) -> Any:  # noqa: PLR0911 (one return a case)
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(value, record) for value in values)
        case ast.BoolOp(values=values):
            return any(_value(value, record) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, record)
        case ast.UnaryOp(operand=operand):
            return -_value(operand, record)
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [_value(part, record) for part in (left, *others)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, values, values[1:], strict=False))
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return _NAMES[name] if name in _NAMES else record.get(name)
        case ast.Attribute(value=inner, attr=attr):
            outer = _value(inner, record)
            return outer.get(attr) if isinstance(outer, Mapping) else None
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, record) for item in items]
    raise AssertionError(node)
