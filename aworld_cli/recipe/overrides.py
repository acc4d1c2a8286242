"""`--set key.path=value`: values are YAML, list items are named by index (`stages.0.rollout.tasks=8`).

An error of the command line names the key alone: a value may be secret.
"""

from __future__ import annotations

import copy
from typing import Any

from aworld_cli.errors import RecipeError, UsageError
from aworld_cli.recipe.document import Document, KeyPath, parse_value


def apply_overrides(document: Document, settings: list[str]) -> None:
    """Change `document` in place as each `key.path=value` of `settings` says.

    A stage is named by its index, its kind or its `name` (`stages.train.steps=2`).

    Raises:
        UsageError: a setting has no `=`, its value is not YAML, or its path leads nowhere.
    """
    if settings and document.original is None:
        document.original = copy.deepcopy(document.value)
    for setting in settings:
        key, separator, text = setting.partition("=")
        parts = [part.strip() for part in key.split(".")]
        if not separator:
            raise UsageError("--set takes key.path=value; there is one without `=`")
        if not all(parts):
            raise UsageError(f"--set {key.strip()}: write it as key.path=value")
        origin = f"--set {'.'.join(parts)}"
        try:
            value = parse_value(text, origin).value
        except RecipeError:  # its text may hold a part of the value
            cause = "the value is not valid YAML (text with special characters goes in quotes)"
            raise UsageError(f"{origin}: {cause}") from None
        _assign(document, parts, value, origin)


def _assign(document: Document, parts: list[str], value: Any, origin: str) -> None:
    target: Any = document.value
    path: KeyPath = ()
    for index, part in enumerate(parts):
        if len(path) == 2 and path[0] == "stages" and isinstance(path[1], int):
            target, path = _into_stage(target, path, part)
        step = _step(target, part, f"{origin}: {'.'.join(parts[:index])}")
        path = (*path, step)
        if index == len(parts) - 1:
            target[step] = value
            document.replaced(path, origin)
        elif isinstance(target, dict) and target.get(part) is None:
            target[part] = {}
            document.replaced(path, origin)
        target = target[step]


def _into_stage(stage: Any, path: KeyPath, part: str) -> tuple[Any, KeyPath]:
    """Go on to the settings of a stage, which stand below its kind, unless the kind itself is named."""
    if not isinstance(stage, dict) or len(stage) != 1 or part in stage:
        return stage, path
    kind = next(iter(stage))
    if stage[kind] is None:
        stage[kind] = {}
    return stage[kind], (*path, kind)


def _step(target: Any, part: str, where: str) -> str | int:
    """Return the key or the index that `part` means in `target`."""
    if isinstance(target, dict):
        return part
    if not isinstance(target, list):
        raise UsageError(f"{where} is a plain value, it has no {part!r}")
    if part.isascii() and part.isdecimal() and len(part) < 10 and int(part) < len(target):
        return int(part)
    for at, item in enumerate(target):
        if isinstance(item, dict) and len(item) == 1:
            kind, body = next(iter(item.items()))
            if isinstance(body, dict) and body.get("name") == part:
                return at
            if kind == part and sum(part in other for other in target if isinstance(other, dict)) == 1:
                return at
        if isinstance(item, dict) and item.get("kind") == part:
            return at
    raise UsageError(f"{where} has no item {part!r}; it is a list of {len(target)}")
