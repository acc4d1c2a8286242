"""Writes a starter where the user wants it. Nothing is written over a file that is there, unless the user says so."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from aworld_cli.errors import MachineError, UsageError
from aworld_cli.recipe.schema_file import SCHEMA_FILE, may_write, write_schema
from aworld_cli.starters import Starter

_PLAIN = re.compile(r"[A-Za-z0-9_./~+-]+")  # a path that YAML takes as text without quotes


def recipe_path(starter: Starter, given: Path | None) -> Path:
    """Return the file that the recipe will be: `CASE.yaml` here, in the directory that is given, or the given file.

    Raises:
        UsageError: the file is not named as YAML is.
    """
    if given is None or os.path.isdir(given):  # noqa: PTH112 - `Path.is_dir` fails at a name that is too long
        return (given or Path()) / f"{starter.case}.yaml"
    if given.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{given}: a recipe's file ends in .yaml, as in {given.with_suffix('.yaml').name}")
    return given


def write_starter(starter: Starter, recipe: Path, schema: Mapping[str, Any], *, force: bool) -> list[Path]:
    """Write the recipe, the files that it needs, and the schema that it names; return what was written, recipe first.

    A file called as the schema is but no schema of ours stays as it is.

    Raises:
        UsageError: a file is there already, and `force` is False.
        MachineError: the place cannot be written to.
    """
    texts = {recipe: _adapted(starter, recipe)}
    texts |= {recipe.parent / name: starter.text(name) for name in starter.files}
    taken = [str(path) for path in texts if os.path.lexists(path)]
    if taken and not force:
        are = "are" if len(taken) > 1 else "is"
        raise UsageError(f"{', '.join(taken)} {are} there already; write elsewhere by --output, or over it by --force")
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w" if force else "x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise MachineError(
                f"{path}: cannot be written: {error.strerror}; choose another place by --output"
            ) from error
    beside = recipe.parent / SCHEMA_FILE
    if not may_write(beside):
        return [*texts]
    write_schema(beside, dict(schema))
    return [*texts, beside]


def run_name(recipe: Path, case: str) -> str:
    """Return the recipe's `name:`, which is its file's as far as a name may be."""
    name = re.sub(r"[^a-z0-9_.-]+", "-", recipe.stem.lower()).strip("-_.")
    return name or case


def next_commands(starter: Starter, recipe: Path, installed: Collection[str], environ: Mapping[str, str]) -> list[str]:
    """Return the commands that lead to a run, those first that this machine still needs.

    Args:
        installed: distributions that offer plugins here, loaded or not.
        environ: the environment's variables.
    """
    absent = [plugin for plugin in starter.plugins if plugin not in installed]
    return [
        *([f"aworld plugins install {' '.join(absent)}"] if absent else []),
        *(f"export {name}=..." for name in starter.variables if not environ.get(name)),
        *starter.before,
        f"aworld validate {shlex.quote(str(recipe))}",
        f"aworld run {shlex.quote(str(recipe))}",
    ]


def _adapted(starter: Starter, recipe: Path) -> str:
    """Return the starter's text with its own name, its own paths, and the Python that runs now."""
    text = starter.text().replace(f"{starter.case}.yaml", shlex.quote(str(recipe)))
    text = re.sub(r"^name: \S+", f"name: {run_name(recipe, starter.case)}", text, count=1, flags=re.MULTILINE)
    for name in starter.files:
        text = _set(text, f"args: [{name}]", f"args: [{_scalar(str(recipe.parent / name))}]")
    return _set(text, "command: python", f"command: {_scalar(sys.executable)}")


def _set(text: str, old: str, new: str) -> str:
    """Replace the first `old` that a comment follows; the comments of the lines stay in their column if they can."""
    return re.sub(rf"{re.escape(old)}( +)#", lambda found: new.ljust(len(found[0]) - 3) + "  #", text, count=1)


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
