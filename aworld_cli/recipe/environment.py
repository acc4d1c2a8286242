"""`${env:NAME}` and `${env:NAME:-default}` in scalars, resolved after parsing.

The resolved value replaces the whole text only in memory: what is written to disk keeps the reference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from aworld_cli.recipe.document import Document, KeyPath

_REFERENCE = re.compile(r"\$\{env:(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


def resolve_environment(document: Document, environ: Mapping[str, str] | None = None) -> tuple[Any, list[str]]:
    """Return the document's value with references replaced, and a line for each variable that is not set."""
    problems: list[str] = []
    variables = os.environ if environ is None else environ

    def resolve(value: Any, path: KeyPath) -> Any:
        if isinstance(value, dict):
            return {key: resolve(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [resolve(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or "${env:" not in value:
            return value

        def replace(match: re.Match[str]) -> str:
            found = variables.get(match["name"])
            if found is not None:
                return found
            if match["default"] is not None:
                return match["default"]
            key = dotted(path)
            problems.append(
                f"{document.where(path)}: {key}: the environment variable {match['name']} is not set; "
                f"set it, or write ${{env:{match['name']}:-default}}"
            )
            return ""

        return _REFERENCE.sub(replace, value)

    return resolve(document.value, ()), problems


def dotted(path: KeyPath) -> str:
    """Return a key path as people write it: `stages[0].rollout.tasks`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text
