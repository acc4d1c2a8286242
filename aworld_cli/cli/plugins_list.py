"""`aworld plugins list`: a row for each component, command and plugin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import typer

from aworld_cli.cli import output
from aworld_cli.cli.groups import COMMANDS
from aworld_cli.cli.plugins_table import table
from aworld_cli.cli.state import state
from aworld_cli.host.inventory import Row, check, inventory, location, slowness
from aworld_cli.host.loader import Plugin


def rows(*, checked: bool = False) -> list[Row]:
    """Return what is installed; `checked` loads every component and command for it."""
    registry = state.registry()
    found = inventory(registry, [command.name for command in COMMANDS])
    return check(registry, found) if checked else found


def list_plugins(*, as_json: bool, check: bool) -> None:
    """Write the list.

    Raises:
        typer.Exit: with code 1, when `check` finds what cannot be loaded; each is one line on stderr.
    """
    found = rows(checked=check)
    if as_json:
        for row in found:
            output.result_json(row.to_json())
    else:
        show(found, state.registry().plugins)
    if not check:
        if not as_json:
            output.say("Only the plugins' modules were loaded for this list; `aworld plugins --check` loads all.")
        return
    faults = [row for row in found if row.status in ("failed", "incompatible")]
    for row in faults:
        output.error(f"{row.kind} {row.name!r} of {row.distribution} {row.version}: {row.status}: {row.reason}")
    if faults:
        raise typer.Exit(1)


def show(found: Sequence[Row], plugins: Iterable[Plugin]) -> None:
    """Write two tables: the components and commands, and the plugins."""
    offered = [row for row in found if row.kind != "plugin"]
    lines = [(row.kind, row.name, row.summary, row.distribution, _status(row)) for row in offered]
    for line in table(("kind", "name", "summary", "from", "status"), lines):
        output.result(line)
    output.result("")
    heads = ("plugin", "distribution", "version", "api", "location", "status")
    for line in table(heads, [_plugin(plugin) for plugin in plugins]):
        output.result(line)


def _status(row: Row) -> str:
    return f"{row.status}: {row.reason}" if row.reason and row.status != "ok" else row.status


def _plugin(plugin: Plugin) -> tuple[str, ...]:
    where, editable = location(plugin)
    reason = plugin.reason or slowness(plugin)
    if not plugin.components and not plugin.commands and plugin.hooks:
        reason = reason or f"hooks: {', '.join(plugin.hooks)}"
    return (
        plugin.name,
        plugin.distribution,
        plugin.version,
        "" if plugin.api is None else str(plugin.api),
        f"{where} (editable)" if editable else where,
        f"{plugin.status}: {reason}" if reason else plugin.status,
    )
