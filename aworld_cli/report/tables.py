"""The tables that close a run, and the line that closes a stage."""

from __future__ import annotations

import math

from rich.box import SIMPLE_HEAD
from rich.table import Table

from aworld_cli.run.summary import StageSummary

_SUMS = ("episodes", "prompt_tokens", "completion_tokens")


def percent(metric: dict[str, float | int], *, interval: bool = True) -> str:
    """Return `47.3 % [45.0, 49.6]`."""
    value = f"{100 * metric['value']:.1f} %"
    return f"{value} [{100 * metric['low']:.1f}, {100 * metric['high']:.1f}]" if interval else value


def stage_line(summary: StageSummary) -> str:
    """Return one line on a finished stage."""
    parts = [f"{summary.name}: {summary.kind} done in {summary.seconds:.1f} s"]
    for key, metric in summary.metrics.items():
        if key.startswith("pass@"):
            parts.append(f"{key} (n={summary.samples}) {percent(metric)}")
        elif key == "tool_use":
            parts.append(f"tool use {percent(metric, interval=False)}")
    if summary.counts:
        parts.append("  ".join(f"{key} {value}" for key, value in summary.counts.items()))
    if summary.checkpoint is not None:
        figures = {key: value for key, value in summary.totals.items() if key not in _SUMS}
        parts += [f"{key} {value:g}" for key, value in figures.items()]
    return " | ".join(parts)


def short(value: float) -> str:
    """Return a figure for people: whole when it is large, three digits when it is small."""
    if not math.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def closing_tables(summaries: list[StageSummary]) -> list[Table]:
    """Return the evaluations side by side, what became of the episodes, and what each stage cost."""
    evaluations = [summary for summary in summaries if summary.kind == "eval"]
    collected = [summary for summary in summaries if summary.counts]
    tables = [_evaluations(evaluations)] if evaluations else []
    return [*tables, _episodes(collected), _stages(summaries)] if collected else [*tables, _stages(summaries)]


def _table(title: str, first: str, *figures: str) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in figures:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _evaluations(evaluations: list[StageSummary]) -> Table:
    keys = list(dict.fromkeys(key for item in evaluations for key in item.metrics if key.startswith("pass@")))
    others = ("reward", "tool use %") if not keys else ("tool use %",)
    table = _table("Evaluation (95 % intervals)", "stage", "tasks", *(f"{key} %" for key in keys), *others)
    for item in evaluations:
        figures = [_percent(item, key) for key in keys] or [f"{item.metrics['reward']['value']:.3f}"]
        tool_use = f"{100 * item.metrics['tool_use']['value']:.1f}"
        tasks = f"{item.counts['selected'] // item.samples} x {item.samples}"
        table.add_row(item.name, tasks, *figures, tool_use)
    return table


def _percent(item: StageSummary, key: str) -> str:
    return percent(item.metrics[key]).replace(" %", "") if key in item.metrics else ""


def _episodes(collected: list[StageSummary]) -> Table:
    parts = ("selected", "correct", "wrong", "limit", "error", "missing")
    table = _table("Episodes", "stage", *parts)
    for item in collected:
        table.add_row(item.name, *(f"{item.counts.get(part, 0):,}" for part in parts))
    return table


def _stages(summaries: list[StageSummary]) -> Table:
    table = _table("Stages", "stage", "kind", "seconds", "episodes/s", "tokens/s")
    table.columns[1].justify = "left"
    for item in summaries:
        seconds = max(item.seconds, 1e-9)
        rates = [item.totals.get(key, 0) / seconds for key in ("episodes", "completion_tokens")]
        table.add_row(item.name, item.kind, f"{item.seconds:.1f}", *(short(rate) if rate else "" for rate in rates))
    table.add_row("all", "", f"{sum(item.seconds for item in summaries):.1f}", "", "")
    return table
