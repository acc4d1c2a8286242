"""`aworld validate`: check recipes without starting anything."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import AWorldError, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence


def validate(
    recipes: Annotated[list[Path], typer.Argument(help="Recipe files.", show_default=False)],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a value first; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a recipe, with its problems.")] = False,
) -> None:
    """Check recipes: syntax, keys, types, components, their options, splits and tasks. Starts nothing.

    All mistakes of all files are told at once. The exit code is that of the worst.
    """
    code = 0
    for path in recipes:
        error = _mistake(path, settings or [])
        if error is not None:
            code = max(code, error.exit_code)
        if as_json:
            output.result_json(_row(path, error))
        elif error is None:
            output.result(f"{path}: ok")
        else:
            output.error(str(error))
        if error is not None and state.debug:
            output.say("".join(traceback.format_exception(error)).rstrip())
    raise typer.Exit(code)


def _mistake(path: Path, settings: Sequence[str]) -> AWorldError | None:
    """Return what is wrong with the recipe at a path; None when nothing is."""
    from aworld_cli.recipe.loading import load_plan
    from aworld_cli.run.check import check_plan

    try:
        plan = load_plan(path, state.registry(), settings)
        check_plan(plan, plan.environment.make())
    except AWorldError as error:
        return error
    return None


def _row(path: Path, error: AWorldError | None) -> dict[str, Any]:
    problems: Sequence[Problem] = ()
    if error is not None:
        problems = error.problems or [Problem(line) for line in str(error).splitlines()]
    return {
        "recipe": str(path),
        "ok": error is None,
        "code": 0 if error is None else error.exit_code,
        "problems": [
            {
                "file": problem.source or None,
                "line": problem.line,
                "column": problem.column,
                "key": problem.key or None,
                "message": problem.message,
            }
            for problem in problems
        ],
    }
