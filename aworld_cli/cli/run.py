"""`aworld run`: run a recipe, or go on with a run that stopped."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import AWorldError, MachineError, Stopped, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aworld_cli.recipe.plan import Plan
    from aworld_cli.reporter.audience import Audience
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.stopping import Stopping
    from aworld_cli.run.summary import StageSummary
    from aworld_cli.run.threshold import Threshold
    from aworld_cli.run.waiting import WaitingReport


def run(
    recipe: Annotated[Path | None, typer.Argument(help="The recipe file.", show_default=False)] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a run: its directory, its name, or `latest`."),
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
    min_score: Annotated[
        str | None,
        typer.Option(
            "--min-score",
            metavar="[STAGE:][METRIC=]VALUE",
            help="Exit with 1 when a score is below this; of the last eval stage's pass@1 unless named.",
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(
            "--grace",
            min=0,
            metavar="SECONDS",
            help="Time that episodes in flight have to end after Ctrl-C. [env: AWORLD_GRACE; default: 30]",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; start nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the summary as JSON.")] = False,
) -> None:
    """Run a recipe's stages in order: collect rollouts, train, evaluate.

    Exit codes: 0 done; 1 done, below --min-score or with too many episode errors; 2 usage; 3 stopped, can be resumed;
    4 bad recipe; 5 plugin missing or broken; 6 the machine lacks something; 130 interrupted.

    Ctrl-C lets the episodes in flight end, a second one does not. SIGUSR1 has it tell what each episode waits for.
    """
    from aworld_cli.run.stopping import Stopping
    from aworld_cli.run.waiting import WaitingReport
    from aworld_cli.settings.base import load_settings

    if (recipe is None) == (resume is None):
        raise UsageError("name a recipe file, or a run with --resume RUN (one of the two)")
    if resume is not None and settings:
        raise UsageError("--set cannot change a run that has begun; start a new one")
    chosen = load_settings(runs_dir=runs_dir, max_errors=max_errors, grace=grace)
    if resume is not None and not resume.is_dir():
        from aworld_cli.archive.finding import find_run

        resume = find_run(str(resume), chosen.runs_dir)
    if dry_run:
        _dry_run(recipe, resume, settings or [], chosen.model_dump(mode="json"), min_score, as_json=as_json)
        return
    stopping, waiting = Stopping(chosen.grace), WaitingReport(detailed=state.debug)
    # stdout carries results only, whatever a plugin prints
    with redirect_stdout(sys.stderr), stopping.signals(), waiting.signals():
        if recipe is not None:
            directory, plan = _start(recipe, settings or [], chosen.runs_dir, min_score)
        else:
            assert resume is not None
            directory, plan = _resume(resume, min_score)
        threshold = _threshold(min_score, plan)
        waiting.logs, waiting.title = directory.logs, directory.path.name
        try:
            summaries = _execute(plan, directory, stopping, waiting, max_errors=chosen.max_errors)
        finally:
            directory.close()
    _conclude(directory, summaries, threshold, max_errors=chosen.max_errors, as_json=as_json)


def _threshold(min_score: str | None, plan: Plan) -> Threshold | None:
    """Return what `--min-score` asks for. Raises UsageError."""
    from aworld_cli.run.threshold import read_threshold

    return None if min_score is None else read_threshold(min_score, plan.stages)


def _start(recipe: Path, settings: list[str], runs_dir: Path, min_score: str | None) -> tuple[RunDirectory, Plan]:
    from aworld_cli.recipe.layers import copies
    from aworld_cli.recipe.loading import load_plan
    from aworld_cli.run.check import check_machine, check_plan
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.lock import write_lock

    try:
        runs_dir = runs_dir.resolve()
    except OSError as error:
        raise MachineError(f"the working directory is gone ({error.strerror}); go to one that is there") from error
    plan = load_plan(recipe, state.registry(), settings)
    _threshold(min_score, plan)
    _go_to_start(plan)
    check_plan(plan, plan.environment.make())
    check_machine(plan)
    directory = RunDirectory.create(runs_dir, plan.recipe.name)
    try:
        for name, text in copies(plan.document).items():
            copy = directory.path / name
            try:
                copy.parent.mkdir(exist_ok=True)
                copy.write_bytes(text.encode())
            except OSError as error:
                raise MachineError(f"{copy}: cannot be written: {error.strerror}") from error
        write_lock(directory, plan, state.registry())
    except BaseException:  # without a lock it is no run
        shutil.rmtree(directory.path, ignore_errors=True)
        directory.close()
        raise
    return directory, plan


def _go_to_start(plan: Plan) -> None:
    """For a lock, go to where its run was started and tell what is installed otherwise by now."""
    import platform

    from aworld_cli.recipe.locked import differences, start_directory
    from aworld_cli.run.machine import distributions

    lock = plan.document.lock
    if lock is None:
        return
    start = start_directory(plan.document)
    if start is not None:
        os.chdir(start)
    found = differences(lock, distributions(), platform.python_version())
    if found:
        more = f" and {len(found) - 8} more" if len(found) > 8 else ""
        output.warning(f"not all is as the lock has it: {'; '.join(found[:8])}{more}")


def _resume(resume: Path, min_score: str | None) -> tuple[RunDirectory, Plan]:
    from aworld_cli.run.check import check_plan
    from aworld_cli.run.directory import RunDirectory

    directory = RunDirectory.open(resume)
    try:
        plan = _locked_plan(directory)
        _threshold(min_score, plan)
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


def _execute(
    plan: Plan, directory: RunDirectory, stopping: Stopping, waiting: WaitingReport, *, max_errors: int
) -> list[StageSummary]:
    import asyncio

    from aworld_cli.cli.display import Display
    from aworld_cli.run.announce import Announcer
    from aworld_cli.run.execute import Run
    from aworld_cli.run.masking import unsaid

    async def main() -> list[StageSummary]:
        task = asyncio.current_task()
        assert task is not None
        stopping.attach(task)
        waiting.loop = task.get_loop()
        announcer = Announcer(display, _audience(plan, display.note))
        return await Run(plan, directory, announcer, max_errors=max_errors, stopping=stopping).execute()

    output.say(f"run directory: {directory.path}")
    hint = stopping.hint = f"go on with: aworld run --resume {shlex.quote(str(directory.path))}"
    with Display() as display:
        stopping.say = display.note
        try:
            with unsaid(plan.document.value):
                return asyncio.run(main())
        except (asyncio.CancelledError, KeyboardInterrupt) as error:
            display.note(hint)
            raise stopping.ended_with() from error
        except AWorldError as error:
            if error.resumable:
                display.note(hint)
            if stopping.requested and isinstance(error, Stopped):
                raise stopping.ended_with() from error
            raise
        finally:
            stopping.detach()


def _audience(plan: Plan, warn: Callable[[str], None]) -> Audience:
    """Return the recipe's reporters and the plugins that have event hooks."""
    from aworld_cli.reporter.audience import Audience, hook_reporters

    named = [(reporter.registered.title, reporter.make()) for reporter in plan.reporters]
    modules = [(f"plugin {plugin.name!r}", plugin.module) for plugin in state.registry().plugins if plugin.module]
    return Audience(named, hook_reporters(modules), warn)


def _conclude(
    directory: RunDirectory,
    summaries: list[StageSummary],
    threshold: Threshold | None,
    *,
    max_errors: int,
    as_json: bool,
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
    trained = sum(summary.errors for summary in summaries if summary.checkpoint is not None)
    if trained:
        output.warning(f"{trained} training episodes failed for infrastructure reasons; their groups were left out")
    errors = sum(summary.errors for summary in summaries if summary.checkpoint is None)
    if errors > max_errors:
        output.error(
            f"{errors} episodes failed for infrastructure reasons (more than --max-errors {max_errors}); "
            f"run them again with: aworld run --resume {shlex.quote(str(directory.path))}"
        )
    reached = True
    if threshold is not None:
        reached, text = threshold.judge(summaries)
        (output.say if reached else output.error)(text)
    if errors > max_errors or not reached:
        raise typer.Exit(1)


def _dry_run(
    recipe: Path | None,
    resume: Path | None,
    settings: list[str],
    chosen: dict[str, object],
    min_score: str | None,
    *,
    as_json: bool,
) -> None:
    from aworld_cli.recipe.loading import load_plan
    from aworld_cli.run.directory import RunDirectory
    from aworld_cli.run.preview import preview

    with redirect_stdout(sys.stderr):
        if recipe is not None:
            plan = load_plan(recipe, state.registry(), settings)
        else:
            assert resume is not None
            plan = _locked_plan(RunDirectory(resume.resolve()))
        _threshold(min_score, plan)
        directory = None if resume is None else resume.resolve()
        shown = preview(plan, settings=chosen, directory=directory, whole=as_json)
    if as_json:
        output.result_json(shown)
        return
    import yaml

    output.result(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=110).rstrip())
