"""Pairs the scalars of plain values with what a pydantic model says may stand there, however deep they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AliasChoices, BaseModel, RootModel
from pydantic.fields import FieldInfo

from aworld_cli.recipe.document import KeyPath


@dataclasses.dataclass(frozen=True, slots=True)
class Option:
    """One type that may stand at a place, and the marks that `Annotated` gave it."""

    type: Any
    marks: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar, where it stands below the model, and what may stand there (none where the model does not say)."""

    path: KeyPath
    value: Any
    options: tuple[Option, ...]


def leaves(model: type[BaseModel], value: Any) -> Iterator[Leaf]:
    """Yield the scalars within `value`, which is given to `model` (it need not be valid)."""
    return _leaves((Option(model),), value, ())


def options_at(model: type[BaseModel], path: KeyPath) -> tuple[Option, ...]:
    """Return what may stand at `path` below a model; none where the model does not say."""
    options: tuple[Option, ...] = (Option(model),)
    for part in path:
        options = tuple(
            found
            for option in options
            for found in (_item(option, part) if isinstance(part, int) else _member(option, part))
        )
    return options


def keys_of(option: Option) -> list[str]:
    """Return the keys that a mapping of this type is written with; none where they are free."""
    kind = option.type
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [field.alias or name for name, field in kind.model_fields.items()]
    if isinstance(kind, type) and (hasattr(kind, "__total__") or dataclasses.is_dataclass(kind)):
        return list(get_type_hints(kind))
    return []


def _leaves(options: tuple[Option, ...], value: Any, path: KeyPath) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, item in value.items():
            below = tuple(found for option in options for found in _member(option, key))
            yield from _leaves(below, item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            below = tuple(found for option in options for found in _item(option, index))
            yield from _leaves(below, item, (*path, index))
    else:
        yield Leaf(path, value, options)


def _expand(annotation: Any, marks: tuple[Any, ...] = ()) -> Iterator[Option]:
    """Yield the types that an annotation allows: the members of unions, what aliases and `Annotated` stand for."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        yield from _expand(inner, (*marks, *more))
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _expand(member, marks)
    elif getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly"):  # within a TypedDict
        yield from _expand(get_args(annotation)[0], marks)
    elif type(annotation).__name__ == "TypeAliasType":  # typing's or typing_extensions'
        yield from _expand(annotation.__value__, marks)
    elif isinstance(annotation, NewType):
        yield from _expand(annotation.__supertype__, marks)
    elif isinstance(annotation, TypeVar):
        yield from _expand(annotation.__bound__ or Any, marks)
    elif isinstance(annotation, type) and issubclass(annotation, RootModel):
        root = annotation.model_fields["root"]
        yield from _expand(root.annotation, (*marks, *root.metadata))
    else:
        yield Option(annotation, marks)


def _member(option: Option, key: str) -> Iterator[Option]:
    """Yield what may stand below `key` of a mapping."""
    kind, origin = option.type, get_origin(option.type)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            if key in _names(name, field):
                yield from _expand(field.annotation, tuple(field.metadata))
    elif isinstance(kind, type) and (hasattr(kind, "__total__") or dataclasses.is_dataclass(kind)):  # or a TypedDict
        hints = get_type_hints(kind, include_extras=True)
        if key in hints:
            yield from _expand(hints[key])
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        arguments = get_args(kind)
        yield from _expand(arguments[1] if len(arguments) == 2 else Any)


def _item(option: Option, index: int) -> Iterator[Option]:
    """Yield what may stand at `index` of a list."""
    origin, arguments = get_origin(option.type), get_args(option.type)
    if not arguments or not isinstance(origin, type) or issubclass(origin, Mapping):
        return
    if origin is tuple and not (len(arguments) == 2 and arguments[1] is Ellipsis):
        if index < len(arguments):
            yield from _expand(arguments[index])
    else:
        yield from _expand(arguments[0])


def _names(name: str, field: FieldInfo) -> set[str]:
    """Return the keys that a field is given by."""
    found = {name, field.alias, field.serialization_alias}
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return {key for key in (*found, *choices) if isinstance(key, str)}
