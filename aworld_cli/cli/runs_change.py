"""`aworld runs rescore` and `aworld runs export`."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.runs_options import Json, Original, RunArgument, RunsDir, StageOption, near, open_run, print_json
from aworld_cli.cli.state import state
from aworld_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from aworld_cli.archive.exporting import Export, Form
    from aworld_cli.archive.rescore import Rescored

_TO = ("jsonl", "parquet", "sft", "tokens")


def rescore(
    ctx: typer.Context,
    run: RunArgument,
    stage: StageOption = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="environment.KEY=VALUE", help="Change an option of the environment; repeatable."),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the record.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show how many grades would change.")] = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Grade a run's saved trajectories anew, by the environment as it is installed now.

    The journal stays as it is: new grades go beside it, old ones and their metrics are kept (`--original` shows them).
    Exit code 1 when an episode could not be graded; it keeps its grade.
    """
    from aworld_cli.archive.regrading import grading_plan
    from aworld_cli.archive.rescore import Rescorer, rescorable

    stored = open_run(run, runs_dir or ctx.obj)
    stages, passed_over = rescorable(stored, stage)
    for text in passed_over:
        output.warning(text)
    start = Path(str(stored.lock.get("directory") or ""))
    if start.is_dir():
        os.chdir(start)  # relative paths of the recipe start there
    with redirect_stdout(sys.stderr):  # stdout carries results only, whatever a plugin prints
        plan, options = grading_plan(stored, stages, state.registry(), settings or [])
        done = Rescorer(stored, plan, options, reason).rescore(stages, dry_run=dry_run)
    if as_json:
        print_json({"run": stored.name, "dry_run": dry_run, "stages": [item.to_json() for item in done]})
    else:
        _show_rescored(done, dry_run=dry_run)
    failed = [failure for item in done for failure in item.failed]
    for failure in failed[:5]:
        output.error(f"{failure['task']!r} sample {failure['sample']} keeps its grade: {failure['error']}")
    if len(failed) > 5:
        output.error(f"{len(failed) - 5} more could not be graded")
    if failed or not any(item.graded for item in done):
        if not failed:
            output.error("no task of the run is in the environment any more; all grades stay")
        raise typer.Exit(1)


def _show_rescored(done: list[Rescored], *, dry_run: bool) -> None:
    from aworld_cli.report.stored import add_row, metric_text, table

    made = table("Would change" if dry_run else "Rescored", "stage", "graded", "changed", "better", "worse", "kept")
    for item in done:
        add_row(made, (item.stage.name, item.graded, item.changed, item.better, item.worse, item.kept))
    console = output.console(stderr=False)
    console.print(made)
    made = table("Metrics (95 % intervals)", "stage", "metric", "before", "after")
    for item in done:
        before, after = item.before["metrics"], item.summary.metrics
        for name in dict.fromkeys([*before, *after]):
            texts = [
                metric_text(name, side[name]).removeprefix(f"{name} ") if name in side else "-"
                for side in (before, after)
            ]
            if texts[0] != texts[1]:
                add_row(made, (item.stage.name, name, *texts))
    if made.row_count:
        console.print(made)
    for item in done:
        if item.gone:
            shown = ", ".join(map(repr, item.gone[:5])) + (", ..." if len(item.gone) > 5 else "")
            output.warning(
                f"{item.stage.name}: no longer in the environment, grades kept: {len(item.gone)} tasks ({shown})"
            )


def export(
    ctx: typer.Context,
    run: RunArgument,
    to: Annotated[str, typer.Option("--to", help=f"The form: {', '.join(_TO)}.", show_default=False)],
    stage: StageOption = None,
    keep: Annotated[
        str | None,
        typer.Option("--keep", metavar="EXPR", help="Which episodes. [default: grade.correct for sft, else all]"),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; stdout if absent (not parquet).")
    ] = None,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="With sft: token ids and masks instead of messages.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    original: Original = False,
    runs_dir: RunsDir = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --output: write the figures as one JSON object.")
    ] = False,
) -> None:
    """Write a run's episodes for other programs: jsonl and parquet hold all of them, sft and tokens what is learnt.

    sft is the chat format (messages with a mask each); tokens holds ids, loss mask and log-probabilities. Both leave
    evaluations out unless --stage names one.
    """
    from aworld_cli.archive.exporting import make_export

    if to not in _TO:
        raise UsageError(f"--to: {to!r} is none of {', '.join(_TO)}{near(to, _TO)}")
    if tokens and to != "sft":
        raise UsageError("--tokens goes with --to sft")
    form: Form = "tokens" if to == "tokens" or tokens else "chat" if to == "sft" else "flat"
    parquet = to == "parquet" or (file is not None and file.suffix == ".parquet")
    if parquet and form == "chat":
        raise UsageError("sft is written as JSON lines: a tool call's arguments have no one type for a column")
    if parquet and file is None:
        raise UsageError("parquet goes to a file: name it with --output FILE")
    if as_json and file is None:
        raise UsageError("--json goes with --output: without, the rows themselves are written")
    if to == "sft" and keep is None:
        keep = "grade.correct"
    exported = make_export(open_run(run, runs_dir or ctx.obj), form, stage, keep, original=original)
    count = _write(exported, file, parquet=parquet, force=force)
    if as_json:
        figures = {"rows": count, "kept": exported.kept, "episodes": exported.episodes}
        print_json({"run": exported.run.name, "file": str(file), **figures})
    else:
        where = f" to {file}" if file is not None else ""
        output.say(f"{count:,} rows{where}: {exported.kept:,} of {exported.episodes:,} episodes are kept")


def _write(exported: Export, file: Path | None, *, parquet: bool, force: bool) -> int:
    from aworld_cli.trajectory.writing import json_line, write_file

    if file is not None:
        return write_file(exported.rows(), file, form=exported.form, parquet=parquet, force=force)
    count = 0
    write: Callable[[str], None] = output.result
    for row in exported.rows():
        write(json_line(row))
        count += 1
    return count
