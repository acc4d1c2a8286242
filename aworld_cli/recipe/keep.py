"""A small, safe expression language over a record's fields: `grade.correct and turns <= 2`.

Python's grammar, a fixed set of nodes, no calls, no attribute access on objects: a name or a dotted path reads the
record's JSON. `turns` is their number, and `tool_calls` that of the tool calls in them. A field that is missing is
null; a comparison that makes no sense for its values (`null < 3`) does not hold.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from typing import Any

from aworld_cli.errors import did_you_mean
from aworld_cli.trajectory.record import EpisodeId, Grade, Trajectory

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
_MAX_DEPTH = 50

#: The fields of a record, and beside them what we count.
FIELDS = frozenset({"schema_version", "tool_calls", *(field.name for field in fields(Trajectory))})
#: What those that have parts hold; None where anything may be.
PARTS: Mapping[str, Collection[str] | None] = {
    "episode": [field.name for field in fields(EpisodeId)],
    "grade": [field.name for field in fields(Grade)],
    "error": None,
    "extra": None,
}


def compile_keep(text: str) -> Callable[[Mapping[str, Any]], bool]:
    """Return the predicate that `text` describes.

    Raises:
        ValueError: the text is not an expression of this language, or reads a field that no record has.
    """
    if len(text) > 2_000:
        raise ValueError("the expression is longer than 2,000 characters")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text!r} is not an expression such as `grade.correct and turns <= 2`") from error
    _check(tree, 0)
    return lambda record: bool(_value(tree, _view(record)))


def _view(record: Mapping[str, Any]) -> Mapping[str, Any]:
    turns = record.get("turns") or ()
    return {**record, "turns": len(turns), "tool_calls": sum(turn.get("tool_calls", 0) for turn in turns)}


def _check(node: ast.expr, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError("the expression is nested too deeply")
    inner: list[ast.expr] = []
    match node:
        case ast.BoolOp(values=values):
            inner = values
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            inner = [operand]
        case ast.Compare(left=left, ops=ops, comparators=others):
            if any(type(op) not in _COMPARE for op in ops):
                raise ValueError("only == != < <= > >= in and not in compare; others are not allowed")
            inner = [left, *others]
        case ast.Constant(value=bool() | int() | float() | str() | None):
            pass
        case ast.Name() | ast.Attribute():
            _check_path(node)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            inner = items
        case _:
            raise ValueError(f"{_source(node)} is not allowed: fields, values, comparisons, and, or, not")
    for part in inner:
        _check(part, depth + 1)


def _source(node: ast.expr) -> str:
    try:
        return repr(ast.unparse(node))
    except RecursionError:
        return "what is nested so deeply"


def _check_path(node: ast.expr) -> None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise ValueError(f"{_source(node)} is not allowed: a path is made of names")
    if len(parts) > _MAX_DEPTH:
        raise ValueError("the expression is nested too deeply")
    if node.id in _NAMES and not parts:
        return
    if node.id not in FIELDS:
        raise ValueError(f"records have no field {node.id!r}{did_you_mean(node.id, FIELDS)}")
    if not parts:
        return
    if node.id not in PARTS:
        raise ValueError(f"{node.id!r} has no parts, so no {parts[0]!r}")
    known = PARTS[node.id]
    if known is not None and parts[0] not in known:
        raise ValueError(f"{node.id!r} has no field {parts[0]!r}{did_you_mean(parts[0], known)}")


def _value(node: ast.expr, record: Mapping[str, Any]) -> Any:  # noqa: PLR0911 (one return a case)
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(value, record) for value in values)
        case ast.BoolOp(values=values):
            return any(_value(value, record) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, record)
        case ast.UnaryOp(operand=operand):
            number = _value(operand, record)
            return -number if isinstance(number, int | float) else None
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [_value(part, record) for part in (left, *others)]
            return all(_compare(op, a, b) for op, a, b in zip(ops, values, values[1:], strict=False))
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


def _compare(op: ast.cmpop, a: Any, b: Any) -> bool:
    try:
        return bool(_COMPARE[type(op)](a, b))
    except TypeError:  # with a field that is missing, say
        return False
