"""Every value that a plan comes to, options' defaults among them, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aworld_cli.recipe.document import KeyPath, Place, dotted
from aworld_cli.recipe.plan import Chosen, Plan
from aworld_cli.recipe.schema import CollectStage
from aworld_cli.recipe.wording import holds
from aworld_cli.run.masking import Mask


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a recipe.

    Args:
        key: its path, as people write it.
        value: plain; a reference to a variable and a secret show as they do with `--dry-run`.
        place: where it comes from; None for a default.
        origin: the same in words.
    """

    key: str
    value: Any
    place: Place | None
    origin: str


def effective_values(plan: Plan) -> Iterator[Value]:
    """Yield the values of a plan, in the order of the recipe's keys.

    Raises:
        PluginError: a component's options cannot be shown.
    """
    mask = Mask(plan.document.value)
    rest = {"model", "agent", "environment", "runtime", "tools", "reporters", "stages"}
    for name, value in plan.recipe.model_dump(mode="json", by_alias=True, exclude=rest).items():
        yield from _values(plan, mask, value, (name,), "default")
    single = (
        ("model", plan.model),
        ("agent", plan.agent),
        ("environment", plan.environment),
        ("runtime", plan.runtime),
    )
    for key, chosen in single:
        yield from _component(plan, mask, chosen, (key,))
    for key, many in (("tools", plan.tools), ("reporters", plan.reporters)):
        for index, chosen in enumerate(many):
            yield from _component(plan, mask, chosen, (key, index))
        if not many:
            yield from _values(plan, mask, [], (key,), "default")
    for stage in plan.stages:
        yield from _stage(plan, mask, stage.index - 1)


def _stage(plan: Plan, mask: Mask, index: int) -> Iterator[Value]:
    stage = plan.stages[index]
    path: KeyPath = ("stages", index, stage.key)
    known = {name for name in type(stage.spec).model_fields if name != "model"}
    for name, value in stage.spec.model_dump(mode="json", by_alias=True, include=known).items():
        if not (name == "kind" and stage.trainer is not None):
            yield from _values(plan, mask, value, (*path, name), "default")
    if isinstance(stage.spec, CollectStage):
        if stage.model is not None:
            yield from _component(plan, mask, stage.model, (*path, "model"))
        else:
            yield from _values(plan, mask, None, (*path, "model"), "default")
    if stage.trainer is not None:
        yield from _component(plan, mask, stage.trainer, path)


def _component(plan: Plan, mask: Mask, chosen: Chosen, path: KeyPath) -> Iterator[Value]:
    plugin = chosen.registered.plugin
    with chosen.registered.blamed("showing its options"):
        options = chosen.config.model_dump(mode="json", by_alias=True)
    name = chosen.registered.component.name
    yield from _values(plan, mask, name, (*path, "kind"), "default")
    for key, value in options.items():
        default = f"default of {name} ({plugin.distribution} {plugin.version})"
        yield from _values(plan, mask, value, (*path, key), default)


def _values(plan: Plan, mask: Mask, value: Any, path: KeyPath, default: str) -> Iterator[Value]:
    """Yield the scalars within a value; an empty list or mapping is one of its own."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _values(plan, mask, item, (*path, key), default)
    elif isinstance(value, list | tuple) and value:
        for index, item in enumerate(value):
            yield from _values(plan, mask, item, (*path, index), default)
    else:
        place = plan.document.place(path) if _written(plan.document.value, path) else None
        yield Value(dotted(path), mask.overlay(value, path), place, default if place is None else str(place))


def _written(value: Any, path: KeyPath) -> bool:
    """Tell whether the recipe's layers say what stands at a path, itself or within a text that it was read from."""
    for part in path:
        if not holds(value, part):
            return not isinstance(value, dict | list) and value is not None
        value = value[part]
    return True
