"""`aworld plugins show NAME`: what a component or a plugin is, its options, and what to write in a recipe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from aworld_cli.cli import output
from aworld_cli.cli.plugins_list import rows
from aworld_cli.cli.plugins_table import clean, fold, table, width
from aworld_cli.cli.state import state
from aworld_cli.errors import PluginError, did_you_mean
from aworld_cli.host.component import KINDS, Kind
from aworld_cli.host.inventory import Row
from aworld_cli.host.registry import Registered
from aworld_cli.host.scan import canonical, header

_INDENT = "  "


def show_named(name: str, *, as_json: bool) -> None:
    """Write all that has this name.

    Args:
        name: a component or command (`NAME`, `KIND/NAME`, `DISTRIBUTION/NAME`), or a plugin or distribution.

    Raises:
        PluginError: nothing has the name, or the options of what has it cannot be loaded.
    """
    found = rows()
    offered = [row for row in found if row.kind != "plugin"]
    chosen = [row for row in offered if _is_called(row, name)]
    if chosen:
        parts = [_component(row) for row in chosen]
    else:
        plugins = [row for row in found if row.plugin == name or canonical(row.distribution) == canonical(name)]
        parts = _plugins(plugins)
    if not parts:
        raise PluginError(_unknown(name, found))
    if as_json:
        for part in parts:
            output.result_json(part)
        return
    for index, part in enumerate(parts):
        if index:
            output.result("")
        for line in _component_lines(part) if "components" not in part else _plugin_lines(part):
            output.result(line)


def _is_called(row: Row, name: str) -> bool:
    owner, _, short = name.rpartition("/")
    kind, _, distribution = owner.rpartition("/")  # KIND/DISTRIBUTION/NAME says all
    if row.name != short or (kind and kind != row.kind):
        return False
    return not owner or owner == row.kind or canonical(distribution) == canonical(row.distribution)


def _component(row: Row) -> dict[str, Any]:
    part = row.to_json()
    item = _registered(row)
    if item is None:  # a command
        return {**part, "description": "", "options": [], "snippet": ""}
    from aworld_cli.recipe.describe import doc, options
    from aworld_cli.recipe.snippet import snippet

    model = item.config_model()
    shared = any(other.kind == row.kind and other.name == row.name and other != row for other in rows())
    written = f"{row.distribution}/{row.name}" if shared else row.name
    with item.blamed("describing its options"):
        return {
            **part,
            "description": doc(model),
            "options": options(model),
            "snippet": snippet(cast(Kind, row.kind), written, model),
        }


def _registered(row: Row) -> Registered | None:
    for item in state.registry().components():
        plugin, component = item.plugin, item.component
        if (plugin.distribution, plugin.name, component.kind, component.name) == (
            row.distribution,
            row.plugin,
            row.kind,
            row.name,
        ):
            return item
    return None


def _plugins(found: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a part for each plugin; its components and commands are rows without options."""
    parts: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in found:
        key = (row.distribution, row.plugin, row.location)
        if key not in parts:
            plugin = next(one for one in state.registry().plugins if (one.distribution, one.name) == key[:2])
            own = {"status": plugin.status, "reason": plugin.reason or (row.reason if row.kind == "plugin" else "")}
            about = {"kind": "plugin", "name": row.plugin, "summary": _summary(plugin.metadata)}
            parts[key] = {**row.to_json(), **about, **own, "hooks": list(plugin.hooks), "components": []}
        if row.kind != "plugin":
            offered = {"kind": row.kind, "name": row.name, "summary": row.summary}
            parts[key]["components"].append({**offered, "status": row.status, "reason": row.reason})
    return list(parts.values())


def _summary(metadata: str) -> str:
    try:
        return header((Path(metadata) / "METADATA").read_text(encoding="utf-8", errors="replace"), "Summary")
    except OSError:
        return ""


def _unknown(name: str, found: Sequence[Row]) -> str:
    names = {row.name for row in found} | {row.plugin for row in found} | {row.distribution for row in found}
    owner, _, short = name.rpartition("/")
    if owner:
        named = [row for row in found if row.kind != "plugin" and owner in (row.kind, row.distribution)]
        if named:
            return f"{owner} has nothing called {short!r}{did_you_mean(short, [row.name for row in named])}"
        owners = [*KINDS, *(row.distribution for row in found)]
        return f"no kind and no distribution is called {owner!r}{did_you_mean(owner, owners)}"
    near = did_you_mean(name, names)
    hint = near if "did you mean" in near else "; `aworld plugins` lists what is installed"
    return f"no component, plugin or distribution is called {name!r}{hint}"


def _component_lines(part: dict[str, Any]) -> Iterator[str]:
    yield from _heading(part)
    if part["kind"] == "command":
        yield f"use: aworld {part['name']} --help"
        return
    if part["description"]:
        yield from (line for text in part["description"].split("\n") for line in fold(text, width()))
        yield ""
    yield from _options(part)
    yield "in a recipe:"
    yield from (f"{_INDENT}{line}" for line in part["snippet"].splitlines())


def _options(part: dict[str, Any]) -> Iterator[str]:
    lines = list(_option_rows(part["options"]))
    if not lines:
        yield "options: none"
        yield ""
        return
    yield "options:"
    for line in table(("option", "type", "default", "description"), lines, wide=width() - len(_INDENT)):
        yield f"{_INDENT}{line}".rstrip()
    yield ""


def _option_rows(options: Sequence[dict[str, Any]], prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    import json

    for option in options:
        kind = ", ".join([option["type"], *option["limits"]])
        default = option["default"]
        shown = default if isinstance(default, str) and default else json.dumps(default, ensure_ascii=False)
        if option["required"]:
            shown = "required"
        elif default is None:
            shown = ""
        yield f"{prefix}{option['name']}", kind, shown, option["description"]
        several = "[]" if option["type"].startswith("list") else ""
        yield from _option_rows(option.get("options", ()), f"{prefix}{option['name']}{several}.")


def _plugin_lines(part: dict[str, Any]) -> Iterator[str]:
    yield from _heading(part)
    if part["hooks"]:
        yield f"hooks: {', '.join(part['hooks'])}"
        yield ""
    heads = ("kind", "name", "summary", "status")
    status = [f"{one['status']}: {one['reason']}" if one["reason"] else one["status"] for one in part["components"]]
    offered = [
        (one["kind"], one["name"], one["summary"], said) for one, said in zip(part["components"], status, strict=True)
    ]
    if offered:
        yield from table(heads, offered)


def _heading(part: dict[str, Any]) -> Iterator[str]:
    summary = f": {clean(part['summary'])}" if part["summary"] else ""
    yield from fold(f"{part['kind']} {part['name']}{summary}", width())
    where = f"{part['location']} (editable)" if part["editable"] else part["location"]
    api = "" if part["api"] is None else f", plugin API {part['api']}"
    plugin = "" if part["kind"] == "plugin" else f", plugin {part['plugin']}"
    yield f"from {part['distribution']} {part['version']}{plugin}{api}, in {where}"
    reason = f": {clean(part['reason'])}" if part["reason"] else ""
    if reason or part["status"] != "ok":
        yield f"status: {part['status']}{reason}"
    yield ""
