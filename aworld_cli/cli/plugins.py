"""`aworld plugins`: what is installed, and whether it loaded."""

from __future__ import annotations

from typing import Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state


def plugins(
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")] = False,
) -> None:
    """List plugins and the components that they offer."""
    rows: list[dict[str, str]] = []
    for plugin in state.registry().plugins:
        common = {
            "plugin": plugin.name,
            "distribution": plugin.distribution,
            "version": plugin.version,
            "status": plugin.status,
            "reason": plugin.reason,
        }
        if not plugin.components:
            rows.append({"kind": "", "name": "", "summary": "", **common})
        for component in plugin.components:
            rows.append({"kind": component.kind, "name": component.name, "summary": component.summary, **common})
    if as_json:
        for row in rows:
            output.result_json(row)
        return
    _show(rows)


def _show(rows: list[dict[str, str]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("kind", "name", "summary", "from", "status"):
        table.add_column(heading, overflow="fold")
    for row in sorted(rows, key=lambda row: (row["kind"], row["name"])):
        status = row["status"] if not row["reason"] else f"{row['status']}: {row['reason']}"
        origin = f"{row['distribution']} {row['version']}"
        table.add_row(row["kind"], row["name"], row["summary"], origin, status)
    output.console(stderr=False).print(table)
