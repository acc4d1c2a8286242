"""The schema as a file beside recipes. It is generated, so it is replaced; any other file is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from aworld_cli.errors import MachineError, UsageError
from aworld_cli.recipe.json_schema import TITLE

#: What it is called, and how a recipe beside it names it, in its first line.
SCHEMA_FILE: Final = "recipe.schema.json"
MODELINE: Final = f"# yaml-language-server: $schema={SCHEMA_FILE}"


def schema_text(schema: dict[str, Any]) -> str:
    """Return the schema as the file's text."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_schema(target: Path, schema: dict[str, Any]) -> None:
    """Write the schema to `target`, making its directory if need be.

    Raises:
        UsageError: another file is there.
        MachineError: it cannot be written.
    """
    if not may_write(target):
        raise UsageError(f"{target}: is there already and is no recipe schema; choose another file")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(schema_text(schema), encoding="utf-8")
    except OSError as error:
        raise MachineError(f"{target}: cannot be written: {error.strerror}; choose another place") from error


def may_write(target: Path) -> bool:
    """Tell whether nothing is at `target`, or a schema that `aworld schema` wrote."""
    try:
        if target.is_fifo() or target.is_char_device():  # /dev/stdout, a process substitution
            return True
    except OSError:  # its name is too long, say: writing will tell
        return True
    try:
        found = json.loads(target.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("title") == TITLE
