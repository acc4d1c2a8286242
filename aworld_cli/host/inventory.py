"""What is installed, a row for each component, command and plugin: what `aworld plugins` lists."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from aworld_cli.errors import PluginError
from aworld_cli.host.component import Command
from aworld_cli.host.containment import contained, describe
from aworld_cli.host.loader import SLOW, Plugin
from aworld_cli.host.registry import Registered, Registry
from aworld_cli.host.scan import canonical


@dataclass(frozen=True, slots=True)
class Row:
    """One component, command, or plugin that offers neither.

    Attributes:
        kind: a component's kind, `command`, or `plugin` for a plugin that offers neither (it may be one for events
            alone, or not loaded).
        location: where it is installed: the project's directory where it is editable, else the directory of packages.
        api: the plugin API that the plugin was built for.
        status: the plugin's; also `shadowed` where its name alone does not reach it, `failed` where it does not load.
        reason: why the status is not `ok`, and what to write instead; also notes on one that is.
        seconds: how long the plugin's import took.
    """

    kind: str
    name: str
    summary: str
    plugin: str
    distribution: str
    version: str
    location: str
    editable: bool
    api: int | None
    status: str
    reason: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return what `--json` writes."""
        return asdict(self)


def location(plugin: Plugin) -> tuple[str, bool]:
    """Return the directory that a plugin is installed from, and whether it is an editable project (PEP 610)."""
    if not plugin.metadata:
        return "", False
    metadata = Path(plugin.metadata)
    with suppress(OSError, ValueError, AttributeError, TypeError, RecursionError):
        origin = json.loads((metadata / "direct_url.json").read_text(encoding="utf-8"))
        if origin.get("dir_info", {}).get("editable"):
            return unquote(urlsplit(origin["url"]).path), True
    return str(metadata.parent if metadata.is_dir() else metadata), False


def inventory(registry: Registry, own_commands: Sequence[str]) -> list[Row]:
    """Return the rows of all plugins, sorted by kind and name.

    Args:
        registry: holds the plugins; only their modules are loaded, none of their components.
        own_commands: names of the core's commands, which go before a plugin's.
    """
    rows = [row for plugin in registry.plugins for row in _rows(plugin)]
    rows = _mark_components(_mark_commands(rows, own_commands))
    return sorted(rows, key=lambda row: (row.kind == "plugin", row.kind, row.name, row.distribution))


def _rows(plugin: Plugin) -> Iterator[Row]:
    where, editable = location(plugin)
    common: dict[str, Any] = {
        "plugin": plugin.name,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "location": where,
        "editable": editable,
        "api": plugin.api,
        "status": plugin.status,
        "reason": plugin.reason or slowness(plugin),
        "seconds": round(plugin.seconds, 4),
    }
    for component in plugin.components:
        yield Row(component.kind, component.name, component.summary, **common)
    for command in plugin.commands:
        yield Row("command", command.name, command.summary, **common)
    if not plugin.components and not plugin.commands:
        events = f"hooks: {', '.join(plugin.hooks)}" if plugin.hooks else ""
        yield Row("plugin", plugin.name, events, **common)


def slowness(plugin: Plugin) -> str:
    """Return what to say of a plugin whose import is slow; empty for others."""
    if plugin.seconds <= SLOW:
        return ""
    return f"slow: its import took {plugin.seconds:.1f} s, which every command pays"


def _mark_components(rows: list[Row]) -> list[Row]:
    offered = Counter((row.kind, row.name) for row in rows if row.kind not in ("command", "plugin"))
    return [_ambiguous(row, rows) if offered[row.kind, row.name] > 1 else row for row in rows]


def _ambiguous(row: Row, rows: list[Row]) -> Row:
    others = [other for other in rows if (other.kind, other.name) == (row.kind, row.name) and other is not row]
    owners = sorted({other.distribution for other in others})
    if any(canonical(owner) == canonical(row.distribution) for owner in owners):
        same = [other.plugin for other in others if canonical(other.distribution) == canonical(row.distribution)]
        reason = f"so does the plugin {same[0]!r} of the same distribution; leave one out with --disable-plugin"
    else:
        reason = f"{' and '.join(owners)} also offers it; write {row.distribution}/{row.name}"
    return replace(row, status="shadowed", reason=reason)


def _mark_commands(rows: list[Row], own_commands: Sequence[str]) -> list[Row]:
    first: dict[str, Row] = {}
    marked: list[Row] = []
    for row in rows:
        reason = ""
        if row.kind == "command" and row.name in own_commands:
            reason = f"aworld's own command {row.name!r} goes before it; its author must call it otherwise"
        elif row.kind == "command" and first.setdefault(row.name, row) is not row:
            other = first[row.name]
            reason = f"{other.distribution} offers it first; write aworld --disable-plugin {other.plugin} {row.name}"
        marked.append(replace(row, status="shadowed", reason=reason) if reason else row)
    return marked


def check(registry: Registry, rows: Sequence[Row]) -> list[Row]:
    """Load the options and the factory of every component and the app of every command; return the rows anew.

    What cannot be loaded has the status `failed`. What lies in modules is imported, nothing is started.
    """
    reasons: dict[tuple[str, str, str, str], str] = {}
    for item in registry.components():
        reasons[_key(item.plugin, item.component.kind, item.component.name)] = _fault(item)
    for command, plugin in registry.commands():
        reasons[_key(plugin, "command", command.name)] = _command_fault(command, plugin)
    return [
        replace(row, status="failed", reason=fault)
        if (fault := reasons.get((row.distribution, row.plugin, row.kind, row.name)))
        else row
        for row in rows
    ]


def _key(plugin: Plugin, kind: str, name: str) -> tuple[str, str, str, str]:
    return plugin.distribution, plugin.name, kind, name


def _fault(item: Registered) -> str:
    try:
        item.config_model()
        item.factory()
    except PluginError as error:
        return str(error)
    return ""


def _command_fault(command: Command, plugin: Plugin) -> str:
    from typer import Typer

    module, _, attribute = command.app.partition(":")
    title = f"command {command.name!r} of {plugin.distribution}"
    try:
        with contained():
            app = getattr(import_module(module), attribute)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"{title} cannot be loaded ({command.app}): {describe(error)}"
    return "" if isinstance(app, Typer) else f"{title}: {command.app} is not a Typer app"
