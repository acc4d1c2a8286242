"""Where a recipe names components, and which kind of component a place takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from aworld_cli.host.component import Kind
from aworld_cli.recipe.schema import DEFAULT_KINDS, STAGES, CollectStage, TrainerStage
from aworld_cli.recipe.yaml12 import KeyPath

#: The keys that name one component each.
SINGLE: Final[tuple[Kind, ...]] = ("model", "agent", "environment", "runtime")
#: The keys that name a list of them.
MANY: Final[dict[str, Kind]] = {"tools": "tool", "reporters": "reporter"}


def components_in(value: Any) -> Iterator[tuple[Kind, KeyPath, dict[str, Any]]]:
    """Yield the kind, the key path and the mapping of every component in a recipe's plain values, valid or not."""
    if not isinstance(value, dict):
        return
    for kind in SINGLE:
        if isinstance(value.get(kind), dict):
            yield kind, (kind,), value[kind]
    for key, kind in MANY.items():
        items = value.get(key)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield kind, (key, index), item
    stages = value.get("stages")
    for index, stage in enumerate(stages if isinstance(stages, list) else ()):
        if isinstance(stage, dict) and len(stage) == 1:
            yield from _in_stage(index, *next(iter(stage.items())))


def _in_stage(index: int, key: str, body: Any) -> Iterator[tuple[Kind, KeyPath, dict[str, Any]]]:
    spec = STAGES.get(key)
    if spec is None or not isinstance(body, dict):
        return
    if issubclass(spec, CollectStage) and isinstance(body.get("model"), dict):
        yield "model", ("stages", index, key, "model"), body["model"]
    if issubclass(spec, TrainerStage):
        yield "trainer", ("stages", index, key), body


def is_component(path: KeyPath) -> bool:
    """Tell whether a key path is that of a component whose mapping holds nothing but its kind and its options."""
    if len(path) == 1:
        return path[0] in SINGLE
    if len(path) == 2:
        return path[0] in MANY
    return len(path) == 4 and path[0] == "stages" and path[3] == "model"


def kind_of(path: KeyPath, component: Any) -> str | None:
    """Return the name that a component's mapping says, or the one that its place has without one."""
    kind = component.get("kind") if isinstance(component, dict) else None
    if kind is None and len(path) == 1:
        return DEFAULT_KINDS.get(str(path[0]))
    return kind if isinstance(kind, str) else None
