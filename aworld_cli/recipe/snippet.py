"""What to paste into a recipe for a component: its kind, and a placeholder for each option that it requires."""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

from aworld_cli.host.component import Kind
from aworld_cli.recipe.describe import option_name
from aworld_cli.recipe.schema import ComponentChoice

_LISTS = {"tool": "tools", "reporter": "reporters"}


def snippet(kind: Kind, name: str, model: type[BaseModel]) -> str:
    """Return YAML for the top of a recipe.

    Args:
        name: what recipes write as `kind`; with the distribution where the short name is not enough.
        model: the component's options.
    """
    import yaml

    choice = {"kind": name, **required(model)}
    value: dict[str, Any] = {kind: choice}
    if kind in _LISTS:
        value = {_LISTS[kind]: [choice]}
    elif kind == "trainer":
        stage = {"sft": {"from": "rollout"}} if name.rpartition("/")[2] == "sft" else {"train": {}}
        value = {"stages": [{key: {**body, **choice}} for key, body in stage.items()]}
    dumped: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1_000)
    return dumped.rstrip()


def required(model: type[BaseModel], within: tuple[type[BaseModel], ...] = ()) -> dict[str, Any]:
    """Return the options that a model requires, each with an example of its own or a placeholder such as `<path>`."""
    found = {}
    for key, field in model.model_fields.items():
        if field.is_required():
            name = option_name(key, field)
            found[name] = _example(name, field, (*within, model))
    return found


def _example(name: str, field: FieldInfo, within: tuple[type[BaseModel], ...]) -> Any:
    if field.examples and isinstance(field.examples[0], str | int | float | bool | list | dict):
        return field.examples[0]
    value = _placeholder(name, field.annotation, within)
    if type(value) is int:
        bounds = [getattr(item, limit, None) for item in field.metadata for limit in ("ge", "gt")]
        value = next((int(bound) for bound in bounds if isinstance(bound, int | float)), value)
        if any(getattr(item, "gt", None) == value for item in field.metadata):
            value += 1
    return value


def _placeholder(name: str, annotation: Any, within: tuple[type[BaseModel], ...]) -> Any:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _placeholder(name, next((part for part in parts if part is not type(None)), str), within)
    if origin is Annotated:
        return _placeholder(name, parts[0], within)
    if origin is Literal:
        return _plain(parts[0])
    kind = origin or annotation
    return _of_class(name, kind, parts, within) if isinstance(kind, type) else f"<{name}>"


def _of_class(name: str, kind: type[Any], parts: tuple[Any, ...], within: tuple[type[BaseModel], ...]) -> Any:
    value: Any = f"<{name}>"
    if issubclass(kind, ComponentChoice):
        value = {"kind": "<kind>"}
    elif issubclass(kind, BaseModel):
        value = {} if kind in within else required(kind, within)
    elif issubclass(kind, Enum):
        value = next((_plain(item) for item in kind), value)
    elif issubclass(kind, SecretStr | SecretBytes):
        value = f"${{env:{name.upper().replace('-', '_')}}}"
    elif issubclass(kind, bool):
        value = False
    elif issubclass(kind, int | float):
        value = 1
    elif issubclass(kind, Mapping):
        value = {"<name>": _placeholder("value", parts[-1], within)} if parts else {}
    elif issubclass(kind, Collection) and not issubclass(kind, str | bytes):
        value = [_placeholder(name, parts[0], within)] if parts else []
    return value


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
