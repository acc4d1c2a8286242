"""What the options before a command decide: which plugins are loaded, whether tracebacks are shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field

from aworld_cli.cli import output
from aworld_cli.errors import PluginError, UsageError, did_you_mean
from aworld_cli.host.containment import silence
from aworld_cli.host.loader import Plugin, disabled_by_environment, load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.host.scan import canonical
from aworld_cli.settings.places import config_file
from aworld_cli.settings.variables import misspelt


@dataclass(slots=True)
class State:
    """Filled from the command line before Typer sees it."""

    builtin_only: bool = False
    disabled: set[str] = field(default_factory=set)
    debug: bool = False
    _registry: Registry | None = None

    def registry(self) -> Registry:
        """Load the plugins once; each that does not load costs one line on stderr.

        With `AWORLD_STRICT_PLUGINS=1` the first of them ends the program, with its traceback.

        Raises:
            UsageError: the user's config.toml is wrong.
        """
        if self._registry is None:
            disabled = self.disabled | _disabled_by_settings()
            if disabled:  # processes that we start load the same plugins
                os.environ["AWORLD_DISABLE_PLUGINS"] = ",".join(sorted(disabled))
            completing = "_AWORLD_COMPLETE" in os.environ  # a person is in the middle of typing
            with silence() if completing else nullcontext():
                plugins = load_plugins(disabled=disabled, builtin_only=self.builtin_only)
            if not completing:
                _warn(plugins)
                _warn_of_unknown(disabled, plugins)
                for text in misspelt(os.environ):
                    output.warning(text)
            self._registry = Registry(plugins)
        return self._registry

    def forget(self) -> None:
        """Load the plugins anew when they are asked for next, for the docs, which run many commands in one process."""
        self._registry = None


def _warn_of_unknown(disabled: Iterable[str], plugins: Iterable[Plugin]) -> None:
    known = {name for plugin in plugins for name in (plugin.name, plugin.distribution)}
    forms = {canonical(name) for name in known}
    for name in sorted(disabled):
        if canonical(name) not in forms:
            output.warning(f"no plugin to disable is called {name!r}{did_you_mean(name, known)}")


def _warn(plugins: Iterable[Plugin]) -> None:
    strict = os.environ.get("AWORLD_STRICT_PLUGINS", "") not in ("", "0")
    for plugin in plugins:
        if plugin.status not in ("failed", "incompatible"):
            continue
        text = f"plugin {plugin.name!r} of {plugin.distribution} {plugin.version}"
        if not strict:
            output.warning(f"{text} is not used ({plugin.status}: {plugin.reason})")
            continue
        if plugin.error is not None:
            import traceback

            output.say("".join(traceback.format_exception(plugin.error)).rstrip())
        output.error(f"{text}: {plugin.status}: {plugin.reason} (AWORLD_STRICT_PLUGINS is set)")
        sys.exit(PluginError.exit_code)


def _disabled_by_settings() -> set[str]:
    """Return what the environment names, else what the user's file does; without one nothing more is imported."""
    found = disabled_by_environment()
    if found or config_file() is None:
        return found
    from aworld_cli.settings.base import load_settings

    return set(load_settings().disable_plugins)


state = State()


def read_global_options(arguments: list[str]) -> list[str]:
    """Take `--no-plugins`, `--disable-plugin NAME` and `--debug` out of the arguments, wherever they stand.

    Raises:
        UsageError: `--disable-plugin` names none.
    """
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            return [*rest, argument, *waiting]
        if argument == "--no-plugins":
            state.builtin_only = True
        elif argument == "--debug":
            state.debug = True
        elif argument == "--disable-plugin":
            state.disabled.add(_plugin_name(next(waiting, "")))
        elif argument.startswith("--disable-plugin="):
            state.disabled.add(_plugin_name(argument.partition("=")[2]))
        else:
            rest.append(argument)
    return rest


def _plugin_name(given: str) -> str:
    if not given or given.startswith("-"):
        raise UsageError("--disable-plugin takes the name of a plugin, as `aworld plugins` lists it")
    return given
