"""Finds components by kind and name, and imports a component's code only when it is used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aworld_cli.errors import AWorldError, PluginError, did_you_mean
from aworld_cli.host.component import Command, Component, Kind
from aworld_cli.host.containment import contained, describe
from aworld_cli.host.loader import Plugin
from aworld_cli.host.scan import canonical

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Registered", "Registry", "describe"]


@dataclass(frozen=True, slots=True)
class Registered:
    """A component and the plugin that offers it."""

    component: Component
    plugin: Plugin

    def config_model(self) -> type[BaseModel]:
        """Import and return the pydantic model of the component's options."""
        from pydantic import BaseModel  # not before a recipe needs it: `aworld --help` does not

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
            with contained():
                return getattr(importlib.import_module(module), attribute)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # what a module raises on import may be anything
            raise PluginError(f"{self.title} cannot be loaded ({reference}): {describe(error)}") from error


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
            if item.component.name == short and (not owner or canonical(item.plugin.distribution) == canonical(owner))
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise PluginError(_ambiguous(found))
        raise PluginError(self._unknown(kind, name))

    def _unknown(self, kind: Kind, name: str) -> str:
        known = [item.component.name for item in self.components(kind)]
        text = f"no {kind} is called {name!r}{did_you_mean(name, known)}"
        absent = [plugin for plugin in self.plugins if plugin.status not in ("ok", "shadowed")]
        if absent:
            reasons = "; ".join(f"{p.distribution} ({p.status}: {p.reason})" for p in absent)
            text += f" [plugins that did not load: {reasons}]"
        return text


def _ambiguous(found: Sequence[Registered]) -> str:
    kind, short = found[0].component.kind, found[0].component.name
    owners = sorted({item.plugin.distribution for item in found})
    if len(owners) == 1:  # its name with the distribution's tells nothing apart
        names = " or ".join(f"--disable-plugin {item.plugin.name}" for item in found)
        return f"two plugins of {owners[0]} offer a {kind} called {short!r}; leave one out: {names}"
    written = " and ".join(f"{owner}/{short}" for owner in owners)
    count = "two" if len(owners) == 2 else str(len(owners))
    return f"{count} plugins offer a {kind} called {short!r}; write {written} to tell them apart"
