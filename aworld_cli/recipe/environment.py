"""`${env:NAME}` and `${env:NAME:-default}` in scalars, resolved after parsing.

The resolved value replaces the whole text only in memory: what is written to disk keeps the reference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aworld_cli.errors import Problem
from aworld_cli.recipe.document import Document, KeyPath, dotted
from aworld_cli.recipe.yaml12 import MAX_TEXT

__all__ = ["Reference", "dotted", "is_reference", "references", "resolve_environment", "scalars", "substitute"]

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


def resolve_environment(
    document: Document, environ: Mapping[str, str] | None = None
) -> tuple[Any, list[tuple[KeyPath, Problem]]]:
    """Return the document's value with references replaced.

    Beside it the key path and the problem of each variable that is not set and each reference that is not well formed;
    the text that has one stays as it is.
    """
    resolver = _Resolver(document, os.environ if environ is None else environ)
    return resolver.resolve(document.value, ()), resolver.problems


class _Resolver:
    def __init__(self, document: Document, variables: Mapping[str, str]) -> None:
        self.document = document
        self.variables = variables
        self.problems: list[tuple[KeyPath, Problem]] = []
        self.length = 0

    def resolve(self, value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            for key in value:
                if _OPENING in key:
                    self._problem((*path, key), "a key cannot hold a reference")
            return {key: self.resolve(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolve(item, (*path, index)) for index, item in enumerate(value)]
        return self._text(value, path) if isinstance(value, str) and _OPENING in value else value

    def _text(self, value: str, path: KeyPath) -> str:
        try:
            resolved, missing = substitute(value, self.variables)
        except ValueError as error:
            self._problem(path, str(error))
            return value
        for name in missing:
            text = f"the environment variable {name} is not set; set it, or, for what is no secret, give it a default: "
            text += f"${{env:{name}:-default}}"
            self._problem(path, text)
        self.length += len(resolved)
        if self.length > MAX_TEXT:
            self._problem(path, f"the variables up to here come to more than {MAX_TEXT:,} characters")
            return value
        return value if missing else resolved

    def _problem(self, path: KeyPath, text: str) -> None:
        self.problems.append((path, self.document.problem(path, text)))


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
