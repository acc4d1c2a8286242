"""`aworld init`: a starter recipe to begin with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import UsageError, did_you_mean
from aworld_cli.starters import STARTERS, Starter


def _complete(incomplete: str) -> list[tuple[str, str]]:
    return [(case, starter.summary) for case, starter in STARTERS.items() if case.startswith(incomplete)]


def init(
    case: Annotated[
        str | None,
        typer.Argument(
            metavar="CASE",
            help=f"What the recipe is for: {', '.join(STARTERS)}.",
            autocompletion=_complete,
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="The recipe's file; CASE.yaml if absent.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write what was made, or the cases, as JSON.")] = False,
) -> None:
    """Write a commented starter recipe for a case, and tell the next commands; without a case, list the cases.

    The recipe's schema is written beside it, so that editors complete and check it; see `aworld schema`.
    """
    if case is None:
        if target is not None or force:
            raise UsageError(f"say which case: {', '.join(STARTERS)}")
        _list(as_json)
        return
    starter = STARTERS.get(case)
    if starter is None:
        raise UsageError(f"there is no case called {case!r}{did_you_mean(case, STARTERS)}")
    _write(starter, target, force, as_json)


def _list(as_json: bool) -> None:
    for starter in STARTERS.values():
        if as_json:
            needs = {"plugins": [*starter.plugins], "variables": [*starter.variables]}
            output.result_json({"case": starter.case, "summary": starter.summary, **needs})
        else:
            output.result(f"{starter.case:<12}{starter.summary}")
    if not as_json:
        output.say("\nnext:\n  aworld init CASE")


def _write(starter: Starter, target: Path | None, force: bool, as_json: bool) -> None:
    from aworld_cli.recipe.json_schema import recipe_schema
    from aworld_cli.recipe.schema_file import SCHEMA_FILE
    from aworld_cli.starters.writing import next_commands, recipe_path, write_starter

    recipe = recipe_path(starter, target)
    schema = recipe_schema(state.registry())
    for problem in schema.problems:
        output.warning(problem)
    written = write_starter(starter, recipe, schema.value, force=force)
    if written[-1].name != SCHEMA_FILE:
        output.warning(f"{recipe.parent / SCHEMA_FILE} is no schema of `aworld schema`; it stays as it is")
    installed = {plugin.distribution for plugin in state.registry().plugins}
    commands = next_commands(starter, recipe, installed, os.environ)
    if as_json:
        files = [str(path) for path in written]
        output.result_json({"case": starter.case, "recipe": str(recipe), "files": files, "next": commands})
        return
    output.result(str(recipe))
    if len(written) > 1:
        output.say(f"beside it: {', '.join(path.name for path in written[1:])}")
    output.say("\n".join(["", "next:", *(f"  {command}" for command in commands)]))
