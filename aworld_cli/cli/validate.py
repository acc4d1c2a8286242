"""`aworld validate`: check recipes without starting anything."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import AWorldError


def validate(
    recipes: Annotated[list[Path], typer.Argument(help="Recipe files.", show_default=False)],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value first; repeatable.")
    ] = None,
) -> None:
    """Check recipes: syntax, keys, types, components, their options, splits and tasks. Starts nothing."""
    from aworld_cli.recipe.loading import load_plan
    from aworld_cli.run.check import check_plan

    code = 0
    for path in recipes:
        try:
            plan = load_plan(path, state.registry(), settings or [])
            check_plan(plan, plan.environment.make())
            output.result(f"{path}: ok")
        except AWorldError as error:
            output.error(str(error))
            if state.debug:
                output.say("".join(traceback.format_exception(error)).rstrip())
            code = max(code, error.exit_code)
    raise typer.Exit(code)
