"""Asks one plugin for what it offers, and checks that it keeps the contract; imports nothing of what is offered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import pluggy

from aworld_cli.host import hooks
from aworld_cli.host.component import KINDS, Command, Component

_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Offer(NamedTuple):
    """What a plugin offers; `hooks` names the hooks that it implements, those for events too."""

    components: tuple[Component, ...]
    commands: tuple[Command, ...]
    hooks: tuple[str, ...]


def plugin_manager() -> pluggy.PluginManager:
    """Return a manager that knows the hooks."""
    manager = pluggy.PluginManager("aworld")
    manager.add_hookspecs(hooks)
    return manager


def ask(manager: pluggy.PluginManager, module: Any, name: str) -> Offer:
    """Register a plugin's module (or object) and return what it offers.

    Args:
        manager: one of `plugin_manager`; it holds the plugin only when nothing is wrong with it.
        module: what the entry point names.
        name: what no other plugin of the manager is called.

    Raises:
        Exception: whatever the plugin raises, and ValueError or TypeError where it breaks the contract.
    """
    if manager.is_registered(module):
        raise ValueError(f"its entry point names the same module as the plugin {manager.get_name(module)}")
    try:
        manager.register(module, name)
        implemented = _implementations(manager, module)
        components = _items(implemented, "aworld_components", Component)
        commands = _items(implemented, "aworld_commands", Command)
        for component in components:
            _check_component(component)
        for command in commands:
            _check_command(command)
        _check_once([(item.kind, item.name) for item in components])
        _check_once([("command", item.name) for item in commands])
    except BaseException:
        if manager.is_registered(module):
            manager.unregister(module)
        raise
    return Offer(tuple(components), tuple(commands), tuple(sorted(implemented)))


def _implementations(manager: pluggy.PluginManager, module: Any) -> dict[str, Any]:
    found = {}
    for caller in manager.get_hookcallers(module) or ():
        for implementation in caller.get_hookimpls():
            if implementation.plugin is not module:
                continue
            if caller.has_spec():
                found[caller.name] = implementation
            elif not implementation.optionalhook:
                known = ", ".join(sorted(name for name in vars(hooks) if name.startswith("aworld_")))
                raise ValueError(f"unknown hook {caller.name!r}; there are {known}")
    return found


def _items(implemented: dict[str, Any], hook: str, record: type[Any]) -> list[Any]:
    implementation = implemented.get(hook)
    if implementation is None:
        return []
    if implementation.wrapper or implementation.hookwrapper:
        raise ValueError(f"{hook} is a wrapper, but no other plugin's {hook} is called through it")
    made = implementation.function()
    if made is None:
        return []
    if isinstance(made, str | record) or not isinstance(made, Iterable):
        raise TypeError(f"{hook} returned a {type(made).__name__}, not a list of {record.__name__}s")
    items = list(made)
    for item in items:
        if not isinstance(item, record):
            raise TypeError(f"{hook} returned a {type(item).__name__}, not a {record.__name__}")
    return items


def _check_component(item: Component) -> None:
    if item.kind not in KINDS:
        raise ValueError(f"the component {item.name!r} is of the kind {item.kind!r}; there are {', '.join(KINDS)}")
    _check_name(item.name, "component")
    _check_summary(item.summary, f"the {item.kind} {item.name!r}")
    for field, value in (("factory", item.factory), ("config", item.config)):
        _check_reference(value, f"the {field} of the {item.kind} {item.name!r}")


def _check_command(item: Command) -> None:
    _check_name(item.name, "command")
    _check_summary(item.summary, f"the command {item.name!r}")
    _check_reference(item.app, f"the app of the command {item.name!r}")


def _check_once(known: list[tuple[str, str]]) -> None:
    for kind, called in known:
        if known.count((kind, called)) > 1:
            raise ValueError(f"it offers two {kind}s called {called!r}")


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for a {what}: letters, digits, `-`, `_` and `.`")


def _check_summary(summary: object, what: str) -> None:
    if not isinstance(summary, str):
        raise TypeError(f"the summary of {what} is {summary!r}, not a text")


def _check_reference(value: object, what: str) -> None:
    if not isinstance(value, str) or not _REFERENCE.fullmatch(value):
        raise ValueError(f'{what} is {value!r}, not of the form "module:attribute"')
