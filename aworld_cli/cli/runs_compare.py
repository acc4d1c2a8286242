"""`aworld runs diff`: two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.runs_options import RUN_HELP, Json, Original, RunsDir, open_run, print_json, print_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from aworld_cli.archive.diff import Difference, Paired, RunDiff, StageDiff, Turned
    from aworld_cli.report.plain import Line


def diff(
    ctx: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help=RUN_HELP, show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The other run, named in the same way.", show_default=False)],
    tasks: Annotated[bool, typer.Option("--tasks", help="List the tasks that turned.")] = False,
    original: Original = False,
    runs_dir: RunsDir = None,
    as_json: Json = False,
) -> None:
    """Compare two runs: settings, versions, results; and evaluations task by task, with an interval. B minus A."""
    from aworld_cli.archive.diff import diff_runs

    found = diff_runs(open_run(a, runs_dir or ctx.obj), open_run(b, runs_dir or ctx.obj), original=original)
    if as_json:
        print_json(found.to_json(tasks=tasks))
        return
    console = output.console(stderr=False)
    for item in _shown(found, tasks=tasks):
        if isinstance(item, list):
            print_lines(item)
        else:
            console.print(item)


def _shown(found: RunDiff, *, tasks: bool) -> Iterator[Table | list[Line]]:
    from aworld_cli.report.plain import Line, clean_line

    yield [Line(f"a: {clean_line(found.a)}"), Line(f"b: {clean_line(found.b)}")]
    for title, differences in (
        ("Settings", found.settings),
        ("Versions", found.versions),
        ("Machine", found.machine),
        ("Git", found.git),
    ):
        if differences:
            yield _differences(title, differences)
    equal = [name for name in ("settings", "versions", "machine", "git") if not getattr(found, name)]
    if equal:
        yield [Line(f"equal: {', '.join(equal)}")]
    for side, names in (("a", found.only_a), ("b", found.only_b)):
        if names:
            yield [Line(f"stages of {side} alone: {', '.join(map(clean_line, names))}")]
    for stage in found.stages:
        yield _stage(stage)
        if stage.paired is not None:
            yield _paired(stage.paired)
            if tasks:
                yield from _turned(stage.paired)


def _differences(title: str, differences: Sequence[Difference]) -> Table:
    import json

    from aworld_cli.report.stored import add_row, table

    made = table(title, "key", "a", "b")
    for item in differences:
        left = "-" if item.of == "b" else json.dumps(item.a, ensure_ascii=False)
        right = "-" if item.of == "a" else json.dumps(item.b, ensure_ascii=False)
        add_row(made, (item.key, left, right))
    return made


def _stage(stage: StageDiff) -> Table:
    from aworld_cli.report.stored import add_row, metric_text, table

    made = table(f"{stage.name} ({stage.kind})", "", "a", "b", "b - a")
    left, right = stage.metrics["a"] or {}, stage.metrics["b"] or {}
    for name in dict.fromkeys([*left, *right]):
        texts = [
            metric_text(name, side[name]).removeprefix(f"{name} ") if name in side else "-" for side in (left, right)
        ]
        change = ""
        if name in left and name in right:
            value = right[name]["value"] - left[name]["value"]
            change = f"{100 * value:+.1f}" if "%" in texts[0] else f"{value:+.3f}"
        add_row(made, (name, *texts, change))
    before, after = stage.counts["a"] or {}, stage.counts["b"] or {}
    for part in dict.fromkeys([*before, *after]):
        both = part in before and part in after
        change = f"{after[part] - before[part]:+,}" if both and after[part] != before[part] else ""
        add_row(made, (part, before.get(part, "-"), after.get(part, "-"), change))
    seconds = stage.seconds
    add_row(made, ("seconds", f"{seconds['a']:,.1f}", f"{seconds['b']:,.1f}", f"{seconds['b'] - seconds['a']:+,.1f}"))
    return made


def _paired(paired: Paired) -> list[Line]:
    from aworld_cli.report.plain import Line

    found = paired.difference
    interval = f"{100 * found['value']:+.1f} points [{100 * found['low']:+.1f}, {100 * found['high']:+.1f}]"
    lines = [
        Line(f"on the same {paired.tasks:,} tasks, {paired.score}: b - a = {interval} (95 %)"),
        Line(f"better {len(paired.better):,}, worse {len(paired.worse):,}, exact two-sided p = {paired.p:.3g}"),
    ]
    if paired.only_a or paired.only_b:
        lines.append(Line(f"left out: {paired.only_a:,} tasks of a alone, {paired.only_b:,} of b alone"))
    return lines


def _turned(paired: Paired) -> Iterator[Table]:
    from aworld_cli.report.stored import add_row, table

    lists: tuple[tuple[str, list[Turned]], ...] = (("Better", paired.better), ("Worse", paired.worse))
    for title, turned in lists:
        if turned:
            made = table(title, "task", "a", "b")
            for item in turned:
                add_row(made, (item.task, f"{item.a:.3g}", f"{item.b:.3g}"))
            yield made
