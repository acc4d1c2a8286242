"""`${env:NAME}` and `${env:NAME:-default}` in scalars, resolved after parsing.

The resolved value replaces the whole text only in memory: what is written to disk keeps the reference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aworld_cli.recipe.document import Document, KeyPath

_OPENING = "${env:"
_REFERENCE = re.compile(r"\$\{env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


@dataclass(frozen=True, slots=True)
class Reference:
    """One `${env:NAME}` in a text; `text` is all of it, `default` None where it has none."""

    name: str
    default: str | None
    text: str


def references(text: str) -> list[Reference]:
    """Return the references in a text.

    Raises:
        ValueError: one of them is not well formed.
    """
    found: list[Reference] = []
    at = text.find(_OPENING)
    while at >= 0:
        match = _REFERENCE.match(text, at)
        if match is None:
            raise ValueError("not a reference: write ${env:NAME} or ${env:NAME:-default}")
        if _OPENING in match[0][1:]:
            raise ValueError("a default cannot hold a reference")
        found.append(Reference(match["name"], match["default"], match[0]))
        at = text.find(_OPENING, match.end())
    return found


def is_reference(text: str) -> bool:
    """Tell whether a text takes its value from the environment alone: it has references, and no default in one."""
    try:
        found = references(text)
    except ValueError:
        return False
    return bool(found) and not any(reference.default for reference in found)


def substitute(text: str, variables: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return a text with its references replaced, and the names of variables that are missing.

    Raises:
        ValueError: a reference is not well formed.
    """
    missing: list[str] = []
    for reference in references(text):
        if reference.name not in variables and reference.default is None:
            missing.append(reference.name)
    return _REFERENCE.sub(lambda match: variables.get(match["name"], match["default"] or ""), text), missing


def resolve_environment(document: Document, environ: Mapping[str, str] | None = None) -> tuple[Any, list[str]]:
    """Return the document's value with references replaced.

    Beside it a line for each variable that is not set and each reference that is not well formed.
    """
    problems: list[str] = []
    variables = os.environ if environ is None else environ

    def problem(path: KeyPath, text: str) -> None:
        problems.append(f"{document.where(path)}: {dotted(path)}: {text}")

    def resolve(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            for key in value:
                if _OPENING in key:
                    problem((*path, key), "a key cannot hold a reference")
            return {key: resolve(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [resolve(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or _OPENING not in value:
            return value
        try:
            resolved, missing = substitute(value, variables)
        except ValueError as error:
            problem(path, str(error))
            return value
        for name in missing:
            text = f"the environment variable {name} is not set; set it, or write ${{env:{name}:-default}}"
            problem(path, text)
        return resolved

    return resolve(document.value, ()), problems


def scalars(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Yield every scalar within plain values, and its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from scalars(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from scalars(item, (*path, index))
    else:
        yield path, value


def dotted(path: KeyPath) -> str:
    """Return a key path as people write it: `stages[0].rollout.tasks`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
