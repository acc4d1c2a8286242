"""Loads plugins one by one, in isolation: a broken plugin costs one line on stderr, never the program.

pluggy's own entry-point loader stops at the first exception; this one records it and goes on.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
from collections.abc import Collection
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Literal

import pluggy

from aworld_cli.host import hooks
from aworld_cli.host.component import API_VERSION, KINDS, Command, Component

GROUP = "aworld"
Status = Literal["ok", "disabled", "failed", "incompatible"]
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point and what came of loading it; `reason` says why the status is not `ok`."""

    name: str
    distribution: str
    version: str
    status: Status
    reason: str = ""
    components: tuple[Component, ...] = ()
    commands: tuple[Command, ...] = ()


def disabled_by_environment() -> set[str]:
    """Return the plugin names in `AWORLD_DISABLE_PLUGINS` (comma separated)."""
    return {name.strip() for name in os.environ.get("AWORLD_DISABLE_PLUGINS", "").split(",") if name.strip()}


def load_plugins(*, disabled: Collection[str] = (), builtin_only: bool = False) -> list[Plugin]:
    """Load every entry point of the group, in the order of distribution and name.

    Args:
        disabled: entry-point or distribution names that are not imported.
        builtin_only: import only this distribution's own plugin.
    """
    found = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: (_owner(point)[0], point.name))
    plugins: list[Plugin] = []
    seen: set[tuple[str, str]] = set()
    for point in found:
        owner, version = _owner(point)
        if (owner, point.name) in seen:  # the same distribution found twice on sys.path (editable installs)
            continue
        seen.add((owner, point.name))
        own = owner == "aworld-cli"
        if not own and (builtin_only or point.name in disabled or owner in disabled):
            plugins.append(Plugin(point.name, owner, version, "disabled", "disabled by request"))
        else:
            plugins.append(_load(point, owner, version))
    return plugins


def _owner(point: importlib.metadata.EntryPoint) -> tuple[str, str]:
    dist = point.dist
    return (dist.name, dist.version) if dist is not None else ("unknown", "unknown")


def _load(point: importlib.metadata.EntryPoint, owner: str, version: str) -> Plugin:
    try:
        with redirect_stdout(sys.stderr):  # stdout carries results only, whatever a plugin prints on import
            module = point.load()
            api = getattr(module, "aworld_api", None)
            if api != API_VERSION:
                said = "states no aworld_api" if api is None else f"was built for plugin API {api}"
                reason = f"{said}; this aworld speaks {API_VERSION}"
                return Plugin(point.name, owner, version, "incompatible", reason)
            return _ask(module, point.name, owner, version)
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split()) or "no message"
        return Plugin(point.name, owner, version, "failed", f"{type(error).__name__}: {text}")


def _ask(module: object, name: str, owner: str, version: str) -> Plugin:
    manager = pluggy.PluginManager("aworld")
    manager.add_hookspecs(hooks)
    manager.register(module, name)
    manager.check_pending()
    components = [item for items in manager.hook.aworld_components() for item in items]
    commands = [item for items in manager.hook.aworld_commands() for item in items]
    for item in components:
        _check_component(item)
    for item in commands:
        _check_command(item)
    known = [(item.kind, item.name) for item in components]
    for kind, called in known:
        if known.count((kind, called)) > 1:
            raise ValueError(f"it offers two {kind}s called {called!r}")
    return Plugin(name, owner, version, "ok", "", tuple(components), tuple(commands))


def _check_component(item: object) -> None:
    if not isinstance(item, Component):
        raise TypeError(f"aworld_components returned a {type(item).__name__}, not a Component")
    if item.kind not in KINDS:
        raise ValueError(f"the component {item.name!r} is of the kind {item.kind!r}; there are {', '.join(KINDS)}")
    _check_name(item.name, "component")
    for field, value in (("factory", item.factory), ("config", item.config)):
        _check_reference(value, f"the {field} of the {item.kind} {item.name!r}")


def _check_command(item: object) -> None:
    if not isinstance(item, Command):
        raise TypeError(f"aworld_commands returned a {type(item).__name__}, not a Command")
    _check_name(item.name, "command")
    _check_reference(item.app, f"the app of the command {item.name!r}")


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for a {what}: letters, digits, `-`, `_` and `.`")


def _check_reference(value: object, what: str) -> None:
    if not isinstance(value, str) or not _REFERENCE.fullmatch(value):
        raise ValueError(f'{what} is {value!r}, not of the form "module:attribute"')
