"""`--set key.path=value`: values are YAML, list items are named by index (`stages.0.rollout.tasks=8`)."""

from __future__ import annotations

from typing import Any

from aworld_cli.errors import UsageError
from aworld_cli.recipe.document import Document, KeyPath, parse_document


def apply_overrides(document: Document, settings: list[str]) -> None:
    """Change `document` in place as each `key.path=value` of `settings` says.

    A stage is named by its index, its kind or its `name` (`stages.train.steps=2`).

    Raises:
        UsageError: a setting has no `=`, its value is not YAML, or its path leads nowhere.
    """
    for setting in settings:
        path, separator, text = setting.partition("=")
        if not separator or not path.strip():
            raise UsageError(f"--set {setting}: write it as key.path=value")
        source = f"--set {path}"
        try:
            value = parse_document(f"value: {text or 'null'}" if "\n" not in text else text, source).value["value"]
        except Exception as error:
            raise UsageError(f"--set {setting}: the value is not valid YAML: {error}") from error
        _assign(document, path.strip().split("."), value, setting)


def _assign(document: Document, parts: list[str], value: Any, setting: str) -> None:
    target: Any = document.value
    path: KeyPath = ()
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if isinstance(target, list):
            at = _index(target, part, setting)
            path = (*path, at)
            if not last and parts[:index] == ["stages"] and parts[index + 1] not in target[at]:
                kind = next(iter(target[at]), "")
                target, path = target[at].setdefault(kind, {}), (*path, kind)
                continue
            if last:
                target[at] = value
            target = target[at]
        elif isinstance(target, dict):
            path = (*path, part)
            if last:
                target[part] = value
                document.marks.pop(path, None)
            elif target.get(part) is None:
                target[part] = {}
            target = target[part]
        else:
            raise UsageError(f"--set {setting}: {'.'.join(parts[:index])} is a plain value, it has no {part!r}")


def _index(items: list[Any], part: str, setting: str) -> int:
    if part.isdigit() and int(part) < len(items):
        return int(part)
    for at, item in enumerate(items):
        if isinstance(item, dict) and len(item) == 1:
            kind, body = next(iter(item.items()))
            if isinstance(body, dict) and body.get("name") == part:
                return at
            if kind == part and sum(part in other for other in items if isinstance(other, dict)) == 1:
                return at
        elif isinstance(item, dict) and item.get("kind") == part:
            return at
    raise UsageError(f"--set {setting}: no item {part!r} in a list of {len(items)}")
