"""Options in words: the types, limits and defaults of a pydantic model as a person reads them.

Invariant: whatever a third party's model holds, words come out; none of these functions raises for a type it does not
know, it falls back to the type's own name.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

from aworld_cli.recipe.schema import ComponentChoice

_NAMES: dict[object, str] = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "boolean",
    bytes: "bytes",
    complex: "number",
    Any: "any value",
    object: "any value",
    type(None): "null",
    SecretStr: "text, kept secret",
    SecretBytes: "bytes, kept secret",
    ComponentChoice: "component",
    dict: "mapping",
    list: "list",
    tuple: "list",
    set: "list",
    frozenset: "list",
}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than", "multiple_of": "a multiple of"}


def option_name(name: str, field: FieldInfo) -> str:
    """Return what recipes call a field."""
    if field.alias:
        return field.alias
    given = field.validation_alias
    if isinstance(given, AliasChoices) and given.choices:
        given = next((choice for choice in given.choices if isinstance(choice, str)), None)
    return given if isinstance(given, str) else name


def type_words(field: FieldInfo, mark: str = "") -> str:
    """Return an option's type and limits.

    Args:
        mark: put before and after what is to be written as it stands; a backtick in Markdown.
    """
    return ", ".join([annotation_words(field.annotation, mark), *limits(field, mark)])


def annotation_words(annotation: Any, mark: str = "") -> str:
    """Return a type in words."""
    try:
        return _words(annotation, mark)
    except Exception:  # types of third parties may raise on anything, even on being hashed or compared
        return "value"


def _words(annotation: Any, mark: str) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return annotation_words(parts[0], mark)
    if origin is Literal:
        return _choices(parts, mark)
    if origin in (Union, types.UnionType):
        found = [annotation_words(part, mark) for part in parts if part is not type(None)]
        return " or ".join(dict.fromkeys(found))
    if isinstance(origin, type) and parts and issubclass(origin, Collection | Iterator):
        return _collection(origin, parts, mark)
    return _named(annotation, mark)


def _choices(values: Iterable[Any], mark: str) -> str:
    plain = [value.value if isinstance(value, Enum) else value for value in values]
    return " or ".join(f"{mark}{value}{mark}" for value in plain if value is not None)


def _collection(origin: type[Any], parts: tuple[Any, ...], mark: str) -> str:
    if issubclass(origin, Mapping):
        return "mapping" if parts[-1] is Any else f"mapping of {annotation_words(parts[-1], mark)}"
    if origin is tuple and len(parts) > 1 and parts[-1] is not Ellipsis:
        return f"list of {len(parts)} ({', '.join(annotation_words(part, mark) for part in parts)})"
    return f"list of {annotation_words(parts[0], mark)}"


def _named(annotation: Any, mark: str) -> str:
    """Return words for a class, or for a name given to another type."""
    with suppress(TypeError):  # not every type can be hashed
        if annotation in _NAMES:
            return _NAMES[annotation]
    if not isinstance(annotation, type):
        aliased = (getattr(annotation, name, None) for name in ("__value__", "__supertype__", "__bound__"))
        inner = next((one for one in aliased if one is not None), None)  # of a type alias, a NewType, a TypeVar
        return str(annotation).replace("typing.", "") if inner is None else annotation_words(inner, mark)
    if issubclass(annotation, Enum):
        return _choices(annotation, mark)
    if issubclass(annotation, BaseModel):
        return "mapping"
    return "path" if issubclass(annotation, PurePath) else annotation.__name__


def limits(field: FieldInfo, mark: str = "") -> Iterator[str]:
    """Yield an option's limits: `at least 1`, `not empty`."""
    bounds = {name: getattr(item, name) for item in field.metadata for name in _BOUNDS if _says(item, name)}
    if {"ge", "le"} <= bounds.keys():
        yield f"{bounds.pop('ge')} to {bounds.pop('le')}"
    yield from (f"{_BOUNDS[name]} {bound}" for name, bound in bounds.items())
    for item in field.metadata:
        if _says(item, "pattern"):
            yield f"matches {mark}{getattr(item.pattern, 'pattern', item.pattern)}{mark}"
        if _says(item, "min_length") and item.min_length:
            yield "not empty" if item.min_length == 1 else f"length at least {item.min_length}"
        if _says(item, "max_length"):
            yield f"length at most {item.max_length}"


def _says(item: Any, name: str) -> bool:
    return not isinstance(item, type) and getattr(item, name, None) is not None


def default_words(field: FieldInfo) -> str:
    """Return an option's default as YAML in one line; `required` where there is none, empty where it is null."""
    if field.is_required():
        return "required"
    value = default_value(field)
    return "" if value is None else _yaml(value)


def default_value(field: FieldInfo) -> Any:
    """Return an option's default as plain values; a secret's, or one that must be computed, as a word about it."""
    if field.is_required():
        return None
    try:
        value = field.get_default(call_default_factory=True, validated_data={})
    except Exception:  # a factory that needs the other options
        return "(computed)"
    return _simple(value)


def _simple(value: Any) -> Any:
    with suppress(Exception):  # a serialiser of a third party may raise
        value = value.model_dump(exclude_defaults=True) if isinstance(value, BaseModel) else value
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, Mapping):
        return {str(_simple(key)): _simple(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_simple(inner) for inner in value]
    if isinstance(value, SecretStr | SecretBytes):
        return "(kept secret)"
    return value if value is None or type(value) in (bool, int, float, str) else _repr(value)


def _repr(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return f"({type(value).__name__})"


def _yaml(value: Any) -> str:
    import yaml

    dumped: str = yaml.safe_dump(value, default_flow_style=True, width=1_000)
    return " ".join(dumped.removesuffix("...\n").split("\n")).strip()


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that a type holds, however deep."""
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def doc(model: type[BaseModel]) -> str:
    """Return a model's own description; empty where it has none."""
    own = model.__dict__.get("__doc__") or ""
    return inspect.cleandoc(own)


def options(model: type[BaseModel], within: tuple[type[BaseModel], ...] = ()) -> list[dict[str, Any]]:
    """Return a model's options as plain values, the options of nested models below each: what `--json` writes.

    Each is `{name, type, limits, required, default, description}`, and `options` where the option is a mapping with
    options of its own (a list of these where it is a list). A model within itself is not told again.
    """
    found = []
    for name, field in model.model_fields.items():
        if field.exclude and field.init is False:
            continue
        one: dict[str, Any] = {
            "name": option_name(name, field),
            "type": annotation_words(field.annotation),
            "limits": list(limits(field)),
            "required": field.is_required(),
            "default": default_value(field),
            "description": " ".join((field.description or "").split()),
        }
        inner = [nested for nested in models_in(field.annotation) if nested is not ComponentChoice]
        fresh = [nested for nested in dict.fromkeys(inner) if nested not in (*within, model)]
        nested_options = [option for nested in fresh for option in options(nested, (*within, model))]
        if nested_options:
            one["options"] = nested_options
        found.append(one)
    return found
