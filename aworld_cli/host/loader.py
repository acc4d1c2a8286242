"""Loads plugins one by one, in isolation: a broken plugin costs one line on stderr, never the program.

pluggy's own entry-point loader stops at the first exception; this one records it and goes on.
"""

from __future__ import annotations

import os
import re
import reprlib
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from typing import Any, Literal

import pluggy

from aworld_cli.host.component import API_VERSION, Command, Component
from aworld_cli.host.containment import contained, describe
from aworld_cli.host.offer import Offer, ask, plugin_manager
from aworld_cli.host.scan import GROUP, OWN, Found, canonical, scan

__all__ = ["GROUP", "SLOW", "Plugin", "Status", "disabled_by_environment", "load_plugins"]

#: Seconds after which a plugin's import is called slow.
SLOW = 0.5

_MOST = 10**6  # the version of an API is below it

Status = Literal["ok", "disabled", "failed", "incompatible", "shadowed"]
_VALUE = re.compile(r"(?P<module>[\w.]+)\s*(:\s*(?P<attributes>[\w.]+))?\s*(\[.*\])?")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point and what came of loading it.

    Attributes:
        name: the entry point's.
        status: `ok`; `disabled` (by request, not imported); `failed`; `incompatible` (another plugin API); `shadowed`
            (the same distribution comes earlier on `sys.path`, so this copy is not imported).
        reason: why the status is not `ok`.
        module: what holds the hook implementations; None unless the status is `ok`.
        hooks: the names of the hooks that it implements.
        api: the plugin API that it says it was built for; None where it says nothing, or was not imported.
        seconds: how long its import and its hooks took.
        metadata: the directory of its distribution's metadata.
        error: what it raised, where it failed.
    """

    name: str
    distribution: str
    version: str
    status: Status
    reason: str = ""
    components: tuple[Component, ...] = ()
    commands: tuple[Command, ...] = ()
    module: object | None = field(default=None, repr=False, compare=False)
    hooks: tuple[str, ...] = ()
    api: int | None = None
    seconds: float = field(default=0.0, compare=False)
    metadata: str = field(default="", compare=False)
    error: BaseException | None = field(default=None, repr=False, compare=False)


def disabled_by_environment() -> set[str]:
    """Return the plugin names in `AWORLD_DISABLE_PLUGINS` (comma separated)."""
    return {name.strip() for name in os.environ.get("AWORLD_DISABLE_PLUGINS", "").split(",") if name.strip()}


def load_plugins(*, disabled: Collection[str] = (), builtin_only: bool = False) -> list[Plugin]:
    """Load every entry point of the group, in the order of distribution and name.

    Args:
        disabled: entry-point or distribution names that are not imported.
        builtin_only: import only this distribution's own plugin.
    """
    manager = plugin_manager()
    unwanted = {canonical(name) for name in disabled}
    plugins: list[Plugin] = []
    for found in scan():
        owner = canonical(found.distribution)
        if found.first:
            plugins.append(_plugin(found, "shadowed", f"{found.distribution} is also in {found.first}"))
        elif owner != OWN and (builtin_only or found.name in disabled or owner in unwanted):
            plugins.append(_plugin(found, "disabled", "disabled by request"))
        else:
            plugins.append(_load(found, manager))
    return plugins


def _load(found: Found, manager: pluggy.PluginManager) -> Plugin:
    started = time.perf_counter()
    api: int | None = None
    try:
        with contained():
            module = _import(found)
            stated = getattr(module, "aworld_api", None)
            api = stated if type(stated) is int and abs(stated) < _MOST else None
            if api is None or api != API_VERSION:
                said = "states no aworld_api" if stated is None else f"was built for plugin API {_short(stated)}"
                reason = f"{said}; this aworld speaks {API_VERSION}"
                return _plugin(found, "incompatible", reason, api=api, seconds=time.perf_counter() - started)
            offer = ask(manager, module, f"{found.name!r} of {found.distribution}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plugin may raise anything: SystemExit, GeneratorExit, its own
        seconds = time.perf_counter() - started
        return _plugin(found, "failed", describe(error), api=api, seconds=seconds, error=error)
    return _plugin(found, "ok", "", offer, api=api, module=module, seconds=time.perf_counter() - started)


def _short(stated: object) -> str:
    """Return what a plugin states as its API, on one line."""
    return reprlib.repr(stated) if isinstance(stated, int | str | float) else f"a {type(stated).__name__}"


def _import(found: Found) -> Any:
    parts = _VALUE.fullmatch(found.value)
    if parts is None:
        shown = f"{found.name} = {found.value}" if found.value else found.name
        raise ValueError(f"its entry point is malformed: {shown!r} is not of the form `name = module`")
    module = import_module(parts["module"])
    return reduce(getattr, (parts["attributes"] or "").split(".") if parts["attributes"] else (), module)


def _plugin(found: Found, status: Status, reason: str, offer: Offer | None = None, **more: Any) -> Plugin:
    components, commands, hooks = offer or ((), (), ())
    return Plugin(
        found.name,
        found.distribution,
        found.version,
        status,
        reason,
        components,
        commands,
        hooks=hooks,
        metadata=found.metadata,
        **more,
    )
