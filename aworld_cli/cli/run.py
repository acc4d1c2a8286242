"""`aworld run`: run a recipe, or go on with a run that stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import AWorldError, Stopped, UsageError

if TYPE_CHECKING:
    from aworld_cli.recipe.loading import Plan
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.summary import StageSummary


def run(
    recipe: Annotated[Path | None, typer.Argument(help="The recipe file.", show_default=False)] = None,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="RUN", help="Go on with the run in this directory.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value: key.path=YAML; repeatable."),
    ] = None,
    runs_dir: Annotated[
        Path, typer.Option("--runs-dir", envvar="AWORLD_RUNS_DIR", help="Where run directories are made.")
    ] = Path("runs"),
    max_errors: Annotated[
        int, typer.Option("--max-errors", min=0, help="Episode errors that still count as success.")
    ] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; start nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the summary as JSON.")] = False,
) -> None:
    """Run a recipe's stages in order: collect rollouts, train, evaluate.

    Exit codes: 0 done; 1 done with too many episode errors; 2 usage; 3 stopped, can be resumed; 4 bad recipe;
    5 plugin missing or broken; 6 the machine lacks something; 130 interrupted.
    """
    if (recipe is None) == (resume is None):
        raise UsageError("name a recipe file, or a run with --resume RUN (one of the two)")
    if dry_run:
        _dry_run(recipe, resume, settings or [], as_json=as_json)
        return
    directory, plan = _start(recipe, settings or [], runs_dir) if recipe else _resume(resume, settings or [])
    try:
        summaries = _execute(plan, directory)
        _conclude(plan, directory, summaries, max_errors=max_errors, as_json=as_json)
    finally:
        directory.close()


def _start(recipe: Path, settings: list[str], runs_dir: Path) -> tuple[RunDirectory, Plan]:
    from aworld_cli.recipe.loading import load_plan
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.lock import write_lock

    plan = load_plan(recipe, state.registry(), settings)
    directory = RunDirectory.create(runs_dir.resolve(), plan.recipe.name)
    (directory.path / "recipe.yaml").write_bytes(recipe.read_bytes())
    write_lock(directory, plan, state.registry(), settings)
    return directory, plan


def _resume(resume: Path | None, settings: list[str]) -> tuple[RunDirectory, Plan]:
    from aworld_cli.recipe.loading import plan_document
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.lock import read_lock

    assert resume is not None
    if settings:
        raise UsageError("--set cannot change a run that has begun; start a new one")
    directory = RunDirectory.open(resume)
    document, start = read_lock(directory)
    if start.is_dir():
        os.chdir(start)  # relative paths in a recipe start from where the run was started
    return directory, plan_document(document, state.registry())


def _execute(plan: Plan, directory: RunDirectory) -> list[StageSummary]:
    from aworld_cli.cli.display import Display
    from aworld_cli.run.execute import Run

    async def main() -> list[StageSummary]:
        current = asyncio.current_task()
        assert current is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, current.cancel)
        return await Run(plan, directory, display).execute()

    output.say(f"run directory: {directory.path}")
    hint = f"go on with: aworld run --resume {directory.path}"
    with Display() as display:
        try:
            return asyncio.run(main())
        except asyncio.CancelledError as error:
            raise Stopped(f"stopped; {hint}") from error
        except KeyboardInterrupt:
            display.note(hint)
            raise
        except AWorldError as error:
            display.note(hint)
            raise error


def _conclude(
    plan: Plan, directory: RunDirectory, summaries: list[StageSummary], *, max_errors: int, as_json: bool
) -> None:
    from aworld_cli.report.tables import closing_tables
    from aworld_cli.run.directory import read_json

    if as_json:
        output.result_json(read_json(directory.summary_file))
    else:
        console = output.console(stderr=False)
        for table in closing_tables(summaries):
            console.print(table)
        console.print(f"run directory: {directory.path}", soft_wrap=True)
    errors = sum(summary.errors for summary in summaries)
    if errors > max_errors:
        output.error(
            f"{errors} episodes failed for infrastructure reasons (more than --max-errors {max_errors}); "
            f"run them again with: aworld run --resume {directory.path}"
        )
        raise typer.Exit(1)


def _dry_run(recipe: Path | None, resume: Path | None, settings: list[str], *, as_json: bool) -> None:
    from aworld_cli.recipe.loading import load_plan, plan_document
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.lock import read_lock
    from aworld_cli.run.preview import preview

    if recipe is not None:
        plan = load_plan(recipe, state.registry(), settings)
    else:
        assert resume is not None
        run_directory = RunDirectory(resume.resolve())
        plan = plan_document(read_lock(run_directory)[0], state.registry())
    shown = preview(plan)
    if as_json:
        output.result_json(shown)
        return
    import yaml

    output.result(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=110).rstrip())
