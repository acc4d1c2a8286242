"""A run's `lock.json` in a recipe's place: `aworld run RUN/lock.json` repeats that run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from aworld_cli.errors import RecipeError
from aworld_cli.recipe.document import Document

LOCK_VERSION = 1
_KEYS = {"schema_version", "recipe", "directory", "distributions"}


def is_lock(document: Document) -> bool:
    """Tell whether a file is a run's lock rather than a recipe."""
    return isinstance(document.value, dict) and document.value.keys() >= _KEYS


def unlocked(document: Document) -> Document:
    """Return the recipe that a lock holds, with its values' places in the lock.

    Raises:
        RecipeError: the lock is of another version, or damaged.
    """
    value: dict[str, Any] = document.value
    if value["schema_version"] != LOCK_VERSION:
        raise RecipeError(f"{document.source}: a lock of version {value['schema_version']}; this aworld reads 1")
    recipe, directory = value["recipe"], value["directory"]
    if not isinstance(recipe, dict) or not isinstance(directory, str):
        raise RecipeError(f"{document.source}: damaged: it holds no recipe")
    inner = Document(document.source, recipe)
    inner.marks = {path[1:]: mark for path, mark in document.marks.items() if path[:1] == ("recipe",)}
    head = f"# The recipe of {document.source}, resolved.\n"
    inner.text = head + yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True, width=110)
    inner.lock = value
    return inner


def start_directory(document: Document) -> Path | None:
    """Return where the relative paths of a lock's recipe start; None for a recipe, or when it is no more."""
    if document.lock is None:
        return None
    path = Path(document.lock["directory"])
    return path if path.is_dir() else None


def differences(lock: dict[str, Any], versions: dict[str, str], python: str) -> list[str]:
    """Return what is installed otherwise than when the lock was written, a text each: `name: then -> now`."""
    then = lock.get("distributions")
    found = [f"Python: {lock.get('python')} -> {python}"] if lock.get("python") != python else []
    for name in sorted({*(then if isinstance(then, dict) else {}), *versions}, key=str.lower):
        before, now = (then or {}).get(name), versions.get(name)
        if before is not None and before != now:
            found.append(f"{name}: {before} -> {now or 'not installed'}")
    return found
