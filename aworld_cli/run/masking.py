"""Shows a recipe's values as the recipe wrote them: what `${env:NAME}` stands for is not shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from aworld_cli.errors import AWorldError
from aworld_cli.recipe.document import KeyPath
from aworld_cli.recipe.environment import is_reference, references, scalars, substitute
from aworld_cli.recipe.plan import value_at

_MASK = "**********"  # how pydantic shows a secret
_SHORTEST = 4  # characters of a value that is searched for within longer texts


class Mask:
    """Puts references back where their values stand.

    Args:
        recipe: the recipe's plain values, with their references.
        environ: the variables that those were replaced by.
    """

    def __init__(self, recipe: Any, environ: Mapping[str, str] | None = None) -> None:
        variables = os.environ if environ is None else environ
        self._recipe = recipe
        self._wholes: dict[str, str] = {}
        values: dict[str, str] = {}
        for _, text in scalars(recipe):
            for reference in references(text) if isinstance(text, str) else ():
                self._wholes[substitute(text, variables)[0]] = text
                value = variables.get(reference.name, "")
                # also as components commonly trim it: without blanks, a URL without its last slash
                for form in (value, value.strip(), value.strip().rstrip("/"), json.dumps(value)[1:-1]):
                    if len(form) >= _SHORTEST:
                        values[form] = reference.text
        self._wholes.pop("", None)
        self._values = values
        longest = sorted(values, key=len, reverse=True)
        self._pattern = re.compile("|".join([r"\$\{env:[^}]*\}", *map(_searched, longest)]))

    def overlay(self, shown: Any, path: KeyPath) -> Any:
        """Return `shown`, shaped as the recipe is at `path`, with the recipe's own text where that has references.

        What the recipe does not say itself is searched for values of references (see `hide`).
        """
        written = value_at(self._recipe, path)
        if isinstance(shown, dict):
            return {key: self.overlay(value, (*path, key)) for key, value in shown.items()}
        if isinstance(shown, list | tuple):
            return [self.overlay(value, (*path, index)) for index, value in enumerate(shown)]
        if written is None:
            return self.hide(shown)
        if isinstance(written, str) and (shown == _MASK or references(written)):
            return written  # a literal that a secret's place allows is no secret
        return shown

    def hide(self, shown: Any) -> Any:
        """Return `shown` as plain values, with a reference for each value of one, wherever it occurs."""
        if isinstance(shown, Mapping):
            return {str(key): self.hide(value) for key, value in shown.items()}
        if isinstance(shown, list | tuple | set | frozenset):
            return [self.hide(value) for value in shown]
        if shown is None or isinstance(shown, bool | int | float):
            return shown
        text = str(shown)
        if text in self._wholes:
            return self._wholes[text]
        return self._pattern.sub(lambda match: self._values.get(match[0], match[0]), text)


@contextmanager
def unsaid(recipe: Any) -> Iterator[None]:
    """Let an AWorldError raised inside say references in place of their values, whatever component wrote its text.

    That is for references without a default, which may stand for secrets; a secret has none.
    """
    try:
        yield
    except AWorldError as error:
        mask = Mask([text for _, text in scalars(recipe) if isinstance(text, str) and is_reference(text)])
        error.args = (mask.hide(str(error)),)
        error.problems = tuple(replace(problem, message=mask.hide(problem.message)) for problem in error.problems)
        raise


def _searched(value: str) -> str:
    """Return the pattern of a value within a text; a short one must stand by itself."""
    return re.escape(value) if len(value) >= 2 * _SHORTEST else rf"(?<!\w){re.escape(value)}(?!\w)"
