"""Finds components by kind and name, and imports a component's code only when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from aworld_cli.errors import AWorldError, PluginError, did_you_mean
from aworld_cli.host.component import Command, Component, Kind
from aworld_cli.host.loader import Plugin


@dataclass(frozen=True, slots=True)
class Registered:
    """A component and the plugin that offers it."""

    component: Component
    plugin: Plugin

    def config_model(self) -> type[BaseModel]:
        """Import and return the pydantic model of the component's options."""
        model = self._load(self.component.config)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise PluginError(f"{self.title}: {self.component.config} is not a pydantic model")
        return model

    def factory(self) -> Callable[..., Any]:
        """Import and return the component's factory."""
        made = self._load(self.component.factory)
        if not callable(made):
            raise PluginError(f"{self.title}: {self.component.factory} is not callable")
        return made

    @property
    def title(self) -> str:
        """What error texts call it: kind, name and distribution."""
        return f"{self.component.kind} {self.component.name!r} of {self.plugin.distribution}"

    @contextmanager
    def blamed(self, doing: str) -> Iterator[None]:
        """Turn what the component's code raises into a PluginError that names it; what it prints goes to stderr.

        Args:
            doing: what it was asked to do, as in "listing its splits".
        """
        try:
            with redirect_stdout(sys.stderr):
                yield
        except AWorldError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(f"{self.title} failed while {doing}: {describe(error)}") from error

    def _load(self, reference: str) -> object:
        module, _, attribute = reference.partition(":")
        try:
            with redirect_stdout(sys.stderr):  # stdout carries results only, whatever a plugin prints on import
                return getattr(importlib.import_module(module), attribute)
        except (Exception, SystemExit) as error:
            raise PluginError(f"{self.title} cannot be loaded ({reference}): {describe(error)}") from error


def describe(error: BaseException) -> str:
    """Return an exception as one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"


class Registry:
    """All plugins of this process."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self.plugins = tuple(plugins)

    def components(self, kind: Kind | None = None) -> list[Registered]:
        """Return every component of loaded plugins, or those of one kind."""
        return [
            Registered(component, plugin)
            for plugin in self.plugins
            for component in plugin.components
            if kind is None or component.kind == kind
        ]

    def commands(self) -> list[tuple[Command, Plugin]]:
        """Return the command groups of loaded plugins, and whose they are."""
        return [(command, plugin) for plugin in self.plugins for command in plugin.commands]

    def find(self, kind: Kind, name: str) -> Registered:
        """Return the component called `name`, or `distribution/name`.

        Raises:
            PluginError: none or several have the name; the text says which and what to do.
        """
        owner, _, short = name.rpartition("/")
        found = [
            item
            for item in self.components(kind)
            if item.component.name == short and (not owner or item.plugin.distribution == owner)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            owners = " and ".join(sorted(f"{item.plugin.distribution}/{short}" for item in found))
            raise PluginError(f"two plugins offer a {kind} called {short!r}; write {owners} to tell them apart")
        raise PluginError(self._unknown(kind, name))

    def _unknown(self, kind: Kind, name: str) -> str:
        known = [item.component.name for item in self.components(kind)]
        text = f"no {kind} is called {name!r}{did_you_mean(name, known)}"
        absent = [plugin for plugin in self.plugins if plugin.status != "ok"]
        if absent:
            reasons = "; ".join(f"{p.distribution} ({p.status}: {p.reason})" for p in absent)
            text += f" [plugins that did not load: {reasons}]"
        return text
