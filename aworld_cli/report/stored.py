"""Tables of runs on disk. Cells are texts, never markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from aworld_cli.archive.listing import Listed
from aworld_cli.archive.overview import Row, StageOverview
from aworld_cli.report.plain import Line, clean_line
from aworld_cli.report.tables import percent, short
from aworld_cli.run.summary import PARTS

_RUN_FIGURES = ("stages", "episodes", "metric", "seconds", "size")
_LEFT = frozenset(
    {"run", "recipe", "started", "status", "stage", "kind", "metric", "task", "outcome", "key", "a", "b", "at", ""}
)


def table(title: str, *headings: str) -> Table:
    """Return an empty table; figures stand at the right."""
    made = Table(
        title=Text(title, style="italic") if title else None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False
    )
    for heading in headings:
        made.add_column(heading, justify="left" if heading in _LEFT else "right", overflow="fold")
    return made


def add_row(target: Table, cells: Iterable[object]) -> None:
    """Add a row of plain texts; None shows as nothing."""
    target.add_row(*(Text("" if cell is None else clean_line(str(cell))) for cell in cells))


def size(count: int) -> str:
    """Return bytes for people, in powers of 1000: `12.3 kB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def local_time(when: datetime | None) -> str:
    """Return a time in this machine's zone, to the minute."""
    return "" if when is None else when.astimezone().strftime("%Y-%m-%d %H:%M")


def metric_name(name: str, samples: int) -> str:
    """Return a metric's name with the number of samples behind each task: `pass@1 (n=4)`."""
    return f"{name} (n={samples})" if name.startswith("pass@") else name


def metric_text(name: str, metric: dict[str, Any]) -> str:
    """Return `pass@1 68.8 % [41.4, 87.3]`; a reward is no percentage."""
    if name.startswith("pass@") or name == "tool_use":
        return f"{name} {percent(metric)}"
    return f"{name} {metric['value']:.3f} [{metric['low']:.3f}, {metric['high']:.3f}]"


def runs_table(runs: Sequence[Listed], width: int) -> Table:
    """Return the list of runs; recipe and start, which a run's name tells too, only where the width has room."""
    wide = width >= 140
    made = table("", "run", *(("recipe", "started") if wide else ()), "status", *_RUN_FIGURES)
    longest = max(len(run.name) for run in runs)
    if width >= longest + 60:
        made.columns[0].min_width = longest
    for run in runs:
        told = (run.recipe, local_time(run.started)) if wide else ()
        if run.status == "damaged":
            add_row(made, (run.name, *told, f"damaged: {run.reason}", None, None, None, None, size(run.size)))
            continue
        metric = "" if run.metric is None else metric_text(run.metric["name"], run.metric)
        figures = (f"{run.done}/{run.total}", f"{run.episodes:,}", metric, f"{run.seconds:,.1f}", size(run.size))
        add_row(made, (run.name, *told, run.status, *figures))
    return made


def run_lines(run: Listed) -> Iterator[Line]:
    """Yield a run in a few short lines, for a narrow terminal."""
    yield Line(clean_line(run.name))
    if run.status == "damaged":
        yield Line(clean_line(f"damaged: {run.reason}"), 2)
        return
    yield Line(f"{run.status}, {run.done}/{run.total} stages, {run.episodes:,} episodes", 2)
    yield Line(f"{run.seconds:,.1f} s, {size(run.size)}", 2)
    if run.metric is not None:
        yield Line(clean_line(metric_text(run.metric["name"], run.metric)), 2)


def header_lines(head: dict[str, Any]) -> Iterator[Line]:
    """Yield what stands above the tables of `aworld runs show`."""
    plugins = ", ".join(f"{name} {version}" for name, version in head["plugins"].items())
    git = head["git"] if isinstance(head["git"], dict) else {}
    revision = " ".join(str(value) for value in git.values() if not isinstance(value, bool | None))
    facts = {
        "run": head["run"],
        "recipe": f"{head['recipe']}, seed {head['seed']}",
        "status": head["status"],
        "started": f"{local_time(datetime.fromisoformat(head['started']))}, {head['seconds']:,.1f} s",
        "python": head["python"],
        "plugins": plugins,
        "git": revision,
        "size": size(head["bytes"]),
    }
    for name, value in facts.items():
        if value:
            yield Line(f"{name + ':':<9}{clean_line(str(value))}")


def overview_tables(stages: Sequence[StageOverview]) -> Iterator[Table]:
    """Yield the tables of a run: stages, episodes, metrics, and what went wrong."""
    made = table("Stages", "stage", "kind", "status", "seconds", "episodes", "samples", "tokens")
    for item in stages:
        summary = item.stage.summary
        totals = {} if summary is None else summary.totals
        recorded = sum(item.counts.get(part) or 0 for part in PARTS[:-1])
        tokens = short(totals["completion_tokens"]) if totals.get("completion_tokens") else ""
        seconds = "" if summary is None else f"{summary.seconds:,.1f}"
        samples = "" if summary is None else summary.samples
        status = item.status + (", rescored" if item.stage.rescored else "")
        cells = (
            item.stage.name,
            item.stage.kind,
            status,
            seconds,
            f"{recorded:,}" if item.counts else "",
            samples,
            tokens,
        )
        add_row(made, cells)
    yield made
    counted = [item for item in stages if item.counts]
    if counted:
        made = table("Episodes", "stage", "selected", *PARTS)
        for item in counted:
            figures = (item.counts.get(part) for part in ("selected", *PARTS))
            add_row(made, (item.stage.name, *("?" if value is None else f"{value:,}" for value in figures)))
        yield made
    yield from _metrics(stages)
    yield from _troubles(stages)


def _metrics(stages: Sequence[StageOverview]) -> Iterator[Table]:
    measured = [item for item in stages if item.metrics]
    if not measured:
        return
    made = table("Metrics (95 % intervals)", "stage", "metric", "episodes")
    for item in measured:
        samples = 1 if item.stage.summary is None else item.stage.summary.samples
        for name, metric in item.metrics.items():
            text = metric_text(name, metric).replace(name, metric_name(name, samples), 1)
            add_row(made, (item.stage.name, text, f"{metric['n']:,}"))
    yield made


def _troubles(stages: Sequence[StageOverview]) -> Iterator[Table]:
    found = [
        (item.stage.name, f"{what} {kind}", count)
        for item in stages
        for what, counter in (("error:", item.errors), ("limit:", item.limits))
        for kind, count in counter.most_common()
    ]
    if found:
        made = table("Errors and limits", "stage", "", "episodes")
        for row in found:
            add_row(made, row)
        yield made
    slowest = sorted((row for item in stages for row in item.slowest), key=lambda row: -row.seconds)[:5]
    if slowest:
        yield rows_table("Slowest episodes", slowest)


def rows_table(title: str, rows: Iterable[Row]) -> Table:
    """Return episodes, one a row."""
    made = table(title, "stage", "task", "sample", "outcome", "reward", "turns", "seconds")
    for row in rows:
        outcome = row.verdict + (f": {row.reason}" if row.reason else "")
        reward = None if row.reward is None else f"{row.reward:g}"
        add_row(made, (row.stage, row.task, row.sample, outcome, reward, row.turns, f"{row.seconds:,.2f}"))
    return made
