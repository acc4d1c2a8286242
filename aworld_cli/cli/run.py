"""`aworld run`: run a recipe, or go on with a run that stopped."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import MachineError, Stopped, UsageError

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
        Path | None,
        typer.Option("--runs-dir", help="Where run directories are made. [env: AWORLD_RUNS_DIR; default: runs]"),
    ] = None,
    max_errors: Annotated[
        int | None,
        typer.Option("--max-errors", min=0, help="Episode errors allowed. [env: AWORLD_MAX_ERRORS; default: 0]"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; start nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the summary as JSON.")] = False,
) -> None:
    """Run a recipe's stages in order: collect rollouts, train, evaluate.

    Exit codes: 0 done; 1 done with too many episode errors; 2 usage; 3 stopped, can be resumed; 4 bad recipe;
    5 plugin missing or broken; 6 the machine lacks something; 130 interrupted.
    """
    from aworld_cli.settings import load_settings

    if (recipe is None) == (resume is None):
        raise UsageError("name a recipe file, or a run with --resume RUN (one of the two)")
    if resume is not None and settings:
        raise UsageError("--set cannot change a run that has begun; start a new one")
    chosen = load_settings(runs_dir=runs_dir, max_errors=max_errors)
    if dry_run:
        _dry_run(recipe, resume, settings or [], as_json=as_json)
        return
    with redirect_stdout(sys.stderr):  # stdout carries results only, whatever a plugin prints
        if recipe is not None:
            directory, plan = _start(recipe, settings or [], chosen.runs_dir)
        else:
            assert resume is not None
            directory, plan = _resume(resume)
        try:
            summaries = _execute(plan, directory, max_errors=chosen.max_errors)
        finally:
            directory.close()
    _conclude(directory, summaries, max_errors=chosen.max_errors, as_json=as_json)


def _start(recipe: Path, settings: list[str], runs_dir: Path) -> tuple[RunDirectory, Plan]:
    from aworld_cli.recipe.loading import load_plan
    from aworld_cli.run.check import check_machine, check_plan
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.lock import write_lock

    plan = load_plan(recipe, state.registry(), settings)
    check_plan(plan, plan.environment.make())
    check_machine(plan)
    directory = RunDirectory.create(runs_dir.resolve(), plan.recipe.name)
    copy = directory.path / "recipe.yaml"
    try:
        copy.write_bytes(plan.document.text.encode())
    except OSError as error:
        raise MachineError(f"{copy}: cannot be written: {error.strerror}") from error
    write_lock(directory, plan, state.registry())
    return directory, plan


def _resume(resume: Path) -> tuple[RunDirectory, Plan]:
    from aworld_cli.run.check import check_plan
    from aworld_cli.run.directory import RunDirectory

    directory = RunDirectory.open(resume)
    try:
        plan = _locked_plan(directory)
        check_plan(plan, plan.environment.make())
    except BaseException:
        directory.close()
        raise
    return directory, plan


def _locked_plan(directory: RunDirectory) -> Plan:
    """Return the plan of a run that has begun, and go to where it was started: relative paths begin there."""
    from aworld_cli.recipe.loading import plan_document
    from aworld_cli.run.lock import read_lock

    document, start = read_lock(directory)
    if start.is_dir():
        os.chdir(start)
    return plan_document(document, state.registry())


def _execute(plan: Plan, directory: RunDirectory, *, max_errors: int) -> list[StageSummary]:
    import asyncio
    import signal

    from aworld_cli.cli.display import Display
    from aworld_cli.run.execute import Run

    async def main() -> list[StageSummary]:
        current = asyncio.current_task()
        assert current is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, current.cancel)
        return await Run(plan, directory, display, max_errors=max_errors).execute()

    output.say(f"run directory: {directory.path}")
    hint = f"go on with: aworld run --resume {directory.path}"
    with Display() as display:
        try:
            return asyncio.run(main())
        except asyncio.CancelledError as error:
            raise Stopped(f"stopped; {hint}") from error
        except (KeyboardInterrupt, Stopped, MachineError):  # a recipe or a plugin must be mended first, in a new run
            display.note(hint)
            raise


def _conclude(directory: RunDirectory, summaries: list[StageSummary], *, max_errors: int, as_json: bool) -> None:
    from aworld_cli.report.tables import closing_tables
    from aworld_cli.run.directory import read_json

    if as_json:
        output.result_json(read_json(directory.summary_file))
    else:
        console = output.console(stderr=False)
        for table in closing_tables(summaries):
            console.print(table)
        console.print(f"run directory: {directory.path}", soft_wrap=True)
    trained = sum(summary.errors for summary in summaries if summary.checkpoint is not None)
    if trained:
        output.warning(f"{trained} training episodes failed for infrastructure reasons; their groups were left out")
    errors = sum(summary.errors for summary in summaries if summary.checkpoint is None)
    if errors > max_errors:
        output.error(
            f"{errors} episodes failed for infrastructure reasons (more than --max-errors {max_errors}); "
            f"run them again with: aworld run --resume {directory.path}"
        )
        raise typer.Exit(1)


def _dry_run(recipe: Path | None, resume: Path | None, settings: list[str], *, as_json: bool) -> None:
    from aworld_cli.recipe.loading import load_plan
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.preview import preview

    with redirect_stdout(sys.stderr):
        if recipe is not None:
            plan = load_plan(recipe, state.registry(), settings)
        else:
            assert resume is not None
            plan = _locked_plan(RunDirectory(resume.resolve()))
        shown = preview(plan)
    if as_json:
        output.result_json(shown)
        return
    import yaml

    output.result(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=110).rstrip())
