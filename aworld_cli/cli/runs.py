"""`aworld runs`: look at runs, compare them, grade them anew, export them, go on with them, remove them."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from aworld_cli.cli import output, runs_change, runs_compare
from aworld_cli.cli.runs_options import (
    RUN_HELP,
    Json,
    JsonLines,
    Original,
    RunArgument,
    RunCommand,
    RunsDir,
    StageOption,
    find,
    near,
    open_run,
    print_json,
    print_lines,
    runs_directory,
)
from aworld_cli.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from aworld_cli.archive.overview import StageOverview
    from aworld_cli.archive.store import StoredRun, StoredStage

app = typer.Typer(
    help="Look at runs: list, show, diff, rescore, export, resume, rm.",
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)

_ROWS = 1_000  # of a table at a time: a long one takes memory, and shows nothing until it is whole
_OUTCOMES = ("correct", "wrong", "limit", "error", "cancelled", "failed")
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Show at most so many, the newest.")]
Status = Annotated[
    str | None, typer.Option("--status", help="Only runs of this status: running, done, stopped, failed, damaged.")
]


@app.callback(invoke_without_command=True)
def runs(
    ctx: typer.Context, limit: Limit = None, status: Status = None, runs_dir: RunsDir = None, as_json: JsonLines = False
) -> None:
    """List runs, newest first; with a command, look at some, compare, rescore, export, resume or remove them."""
    ctx.obj = runs_dir
    if ctx.invoked_subcommand is None:
        _list(limit, status, runs_dir, as_json=as_json)


@app.command("list")
def list_(
    ctx: typer.Context, limit: Limit = None, status: Status = None, runs_dir: RunsDir = None, as_json: JsonLines = False
) -> None:
    """List runs, newest first. A directory that is no whole run is listed as `damaged`, with the reason."""
    _list(limit, status, runs_dir or ctx.obj, as_json=as_json)


def _list(limit: int | None, status: str | None, runs_dir: Path | None, *, as_json: bool) -> None:
    from aworld_cli.archive.listing import STATUSES, list_runs

    if status is not None and status not in STATUSES:
        raise UsageError(f"--status: {status!r} is none of {', '.join(STATUSES)}{near(status, STATUSES)}")
    folder = runs_directory(runs_dir)
    found = [run for run in list_runs(folder) if status in (None, run.status)][:limit]
    if as_json:
        for run in found:
            print_json(run.to_json())
        return
    if not found:
        output.say(f"no runs in {folder}" + (f" with the status {status}" if status else ""))
        return
    from aworld_cli.report.stored import run_lines, runs_table

    console = output.console(stderr=False)
    if console.width < 80:
        print_lines(line for run in found for line in run_lines(run))
    else:
        console.print(runs_table(found, console.width))


@app.command("show", cls=RunCommand)
def show(
    ctx: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="[RUN]", help=f"{RUN_HELP} The latest if absent.", show_default=False)
    ] = "latest",
    task: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="A task: show its transcript.", show_default=False)
    ] = None,
    stage: StageOption = None,
    sample: Annotated[int | None, typer.Option("--sample", min=0, help="Which of the task's samples.")] = None,
    tasks: Annotated[bool, typer.Option("--tasks", help="List the episodes.")] = False,
    outcome: Annotated[
        str | None,
        typer.Option("--outcome", help=f"With --tasks, only: {', '.join(_OUTCOMES)} (all but correct)."),
    ] = None,
    original: Original = False,
    full: Annotated[bool, typer.Option("--full", help="Show long texts whole.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Show a run: its stages, counts and metrics; or with TASK the transcript of an episode; or its episodes."""
    stored = open_run(run, runs_dir or ctx.obj)
    chosen = [stored.stage(stage)] if stage is not None else list(stored.stages)
    if task is not None:
        if tasks or outcome:
            raise UsageError("name a TASK, or ask for a list with --tasks (one of the two)")
        _show_task(chosen, task, sample, original=original, full=full, as_json=as_json)
    elif tasks or outcome:
        _show_tasks(chosen, outcome, original=original, as_json=as_json)
    elif sample is not None:
        raise UsageError("--sample goes with a TASK")
    else:
        _show_run(stored, chosen, original=original, as_json=as_json)


def _show_run(stored: StoredRun, stages: list[StoredStage], *, original: bool, as_json: bool) -> None:
    from aworld_cli.archive.overview import header, stage_overview
    from aworld_cli.archive.store import size_of

    head = header(stored, size_of(stored.path))
    found = [stage_overview(stage, original=original) for stage in stages]
    for item in found:
        _warn_of_damage(item)
    if as_json:
        print_json({**head, "stages": [item.to_json() for item in found]})
        return
    from aworld_cli.report.stored import header_lines, overview_tables

    print_lines(header_lines(head))
    console = output.console(stderr=False)
    for table in overview_tables(found):
        console.print(table)


def _warn_of_damage(item: StageOverview) -> None:
    journal = item.stage.journal
    for number in item.damaged[:5]:
        output.warning(f"{journal}:{number}: damaged record, left out; restore the file, or delete that line")
    if len(item.damaged) > 5:
        output.warning(f"{journal}: {len(item.damaged) - 5} more damaged records, left out")
    if item.torn:
        output.warning(f"{journal}: the last line is torn; its episode runs again when the run is resumed")


def _show_tasks(stages: list[StoredStage], outcome: str | None, *, original: bool, as_json: bool) -> None:
    from aworld_cli.archive.overview import episodes_of, rows

    if outcome is not None and outcome not in _OUTCOMES:
        raise UsageError(f"--outcome: {outcome!r} is none of {', '.join(_OUTCOMES)}{near(outcome, _OUTCOMES)}")
    found = (row for stage in stages for row in rows(stage, episodes_of(stage, original=original, tolerant=True)))
    wanted = (row for row in found if outcome in (None, row.verdict, "" if row.verdict == "correct" else "failed"))
    if as_json:
        for row in wanted:
            print_json(row.to_json())
        return
    from aworld_cli.report.stored import rows_table

    console = output.console(stderr=False)
    group = list(islice(wanted, _ROWS))
    console.print(rows_table("", group))
    while group := list(islice(wanted, _ROWS)):
        console.print(rows_table("", group))


def _show_task(
    stages: list[StoredStage], task: str, sample: int | None, *, original: bool, full: bool, as_json: bool
) -> None:
    from aworld_cli.archive.overview import episodes_of
    from aworld_cli.trajectory.matching import match_task, task_ids, task_records

    known = {stage.name: task_ids(episodes_of(stage, tolerant=True, original=True)) for stage in stages}
    name = match_task(task, (found for ids in known.values() for found in ids))
    having = [stage for stage in stages if name in known[stage.name]]
    stage = having[-1]
    if len(having) > 1:
        elsewhere = ", ".join(other.name for other in having[:-1])
        output.say(f"of the stage {stage.name}; also in {elsewhere} (see --stage)")
    records = task_records(episodes_of(stage, original=original, tolerant=True), name)
    samples = [record["episode"]["sample"] for record in records]
    record = next((item for item in records if sample in (None, item["episode"]["sample"])), None)
    if record is None:
        raise UsageError(f"{name!r} has no sample {sample} in {stage.name}; it has {', '.join(map(str, samples))}")
    if as_json:
        print_json({"stage": stage.name, **record})
        return
    from aworld_cli.archive.transcript import transcript
    from aworld_cli.report.plain import Line, clean_line

    others = [number for number in samples if number != record["episode"]["sample"]]
    which = f", sample {record['episode']['sample']}" + (f" (others: {_listed(others)})" if others else "")
    print_lines([Line(f"{clean_line(name)}{which}, stage {stage.name}", style="bold")])
    print_lines(transcript(record, full=full))


def _listed(samples: list[int]) -> str:
    return ", ".join(map(str, samples[:12])) + (", ..." if len(samples) > 12 else "")


app.command("diff", cls=RunCommand)(runs_compare.diff)
app.command("rescore", cls=RunCommand)(runs_change.rescore)
app.command("export", cls=RunCommand)(runs_change.export)


@app.command("resume", cls=RunCommand)
def resume(
    ctx: typer.Context,
    run: RunArgument,
    max_errors: Annotated[
        int | None,
        typer.Option("--max-errors", min=0, help="Episode errors allowed. [env: AWORLD_MAX_ERRORS; default: 0]"),
    ] = None,
    min_score: Annotated[
        str | None,
        typer.Option(
            "--min-score", metavar="[STAGE:][METRIC=]VALUE", help="Exit with 1 when a score is below this (aworld run)."
        ),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option("--grace", min=0, metavar="SECONDS", help="Time to end after Ctrl-C. [env: AWORLD_GRACE]"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; start nothing.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Go on with a run that stopped: the same as `aworld run --resume RUN`."""
    from aworld_cli.cli.run import run as run_recipe

    path = find(run, runs_dir or ctx.obj)
    run_recipe(resume=path, max_errors=max_errors, min_score=min_score, grace=grace, dry_run=dry_run, as_json=as_json)


@app.command("rm", cls=RunCommand)
def remove(
    ctx: typer.Context,
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help=RUN_HELP, show_default=False)],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    runs_dir: RunsDir = None,
    as_json: JsonLines = False,
) -> None:
    """Remove runs with all that is in them. Asks first; away from a terminal it takes --yes."""
    from aworld_cli.archive.removal import check_removable, remove_run
    from aworld_cli.archive.store import size_of
    from aworld_cli.report.stored import size

    folder = runs_dir or ctx.obj
    paths = list(dict.fromkeys(check_removable(find(run, folder)) for run in runs))
    if not yes:
        for path in paths:
            output.say(f"{path}: {size(size_of(path))}")
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError("nobody can be asked here; say --yes to remove")
        if not typer.confirm("Remove?", err=True):
            output.say("nothing is removed")
            raise typer.Exit(1)
    for path in paths:
        freed = remove_run(path)
        if as_json:
            output.result_json({"run": path.name, "path": str(path), "bytes": freed})
        else:
            output.result(f"removed {path} ({size(freed)})")
