"""The tables that close a run, and the line that closes a stage."""

from __future__ import annotations

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


def closing_tables(summaries: list[StageSummary]) -> list[Table]:
    """Return the comparison of the evaluations side by side, and what each stage cost."""
    evaluations = [summary for summary in summaries if summary.kind == "eval"]
    tables = [_stages(summaries)]
    return [_evaluations(evaluations), *tables] if evaluations else tables


def _evaluations(evaluations: list[StageSummary]) -> Table:
    table = Table(title="Evaluation (95 % intervals)", box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("evaluation", no_wrap=True)
    keys = list(dict.fromkeys(key for item in evaluations for key in item.metrics if key.startswith("pass@")))
    for key in keys:
        table.add_column(f"{key} %", justify="right", no_wrap=True)
    for heading in ("tool use %", "episodes", "correct", "wrong", "limit", "error", "missing"):
        table.add_column(heading, justify="right", no_wrap=True)
    for item in evaluations:
        figures = [percent(item.metrics[key]).replace(" %", "") if key in item.metrics else "" for key in keys]
        counts = item.counts
        shape = f"{counts['selected'] // item.samples} x {item.samples}"
        parts = [str(counts[key]) for key in ("correct", "wrong", "limit", "error", "missing")]
        tool_use = percent(item.metrics["tool_use"], interval=False).replace(" %", "")
        table.add_row(item.name, *figures, tool_use, shape, *parts)
    return table


def _stages(summaries: list[StageSummary]) -> Table:
    table = Table(title="Stages", box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("stage")
    table.add_column("kind")
    for heading in ("seconds", "episodes", "episodes/s", "tokens/s"):
        table.add_column(heading, justify="right")
    for item in summaries:
        seconds = max(item.seconds, 1e-9)
        episodes = item.totals.get("episodes")
        tokens = item.totals.get("completion_tokens")
        table.add_row(
            item.name,
            item.kind,
            f"{item.seconds:.1f}",
            "" if episodes is None else f"{episodes:,.0f}",
            "" if episodes is None else f"{episodes / seconds:,.0f}",
            "" if tokens is None else f"{tokens / seconds:,.0f}",
        )
    total = sum(item.seconds for item in summaries)
    table.add_row("all", "", f"{total:.1f}", "", "", "")
    return table
