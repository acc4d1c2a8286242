"""`aworld schema`: the JSON Schema of recipes, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state


def schema(
    target: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write it there instead; recipes name it in their first line."),
    ] = None,
) -> None:
    """Write the JSON Schema of recipes, composed from the installed plugins, by which editors complete and check them.

    A recipe names it in its first line: `# yaml-language-server: $schema=recipe.schema.json`. Write it again when
    plugins were installed or removed.
    """
    from aworld_cli.recipe.json_schema import recipe_schema
    from aworld_cli.recipe.schema_file import schema_text, write_schema

    made = recipe_schema(state.registry())
    for problem in made.problems:
        output.warning(problem)
    if target is None:
        output.result(schema_text(made.value).rstrip("\n"))
    else:
        write_schema(target, made.value)
        output.say(f"wrote {target}")
