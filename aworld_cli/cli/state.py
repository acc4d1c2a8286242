"""What the options before a command decide: which plugins are loaded, whether tracebacks are shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from aworld_cli.cli import output
from aworld_cli.host.loader import disabled_by_environment, load_plugins
from aworld_cli.host.registry import Registry


@dataclass(slots=True)
class State:
    """Filled from the command line before Typer sees it."""

    builtin_only: bool = False
    disabled: set[str] = field(default_factory=set)
    debug: bool = False
    _registry: Registry | None = None

    def registry(self) -> Registry:
        """Load the plugins once; each that does not load costs one line on stderr."""
        if self._registry is None:
            plugins = load_plugins(disabled=self.disabled | disabled_by_environment(), builtin_only=self.builtin_only)
            for plugin in plugins:
                if plugin.status in ("failed", "incompatible"):
                    output.warning(
                        f"plugin {plugin.name!r} of {plugin.distribution} {plugin.version} is not used "
                        f"({plugin.status}: {plugin.reason})"
                    )
            self._registry = Registry(plugins)
        return self._registry


state = State()


def read_global_options(arguments: list[str]) -> list[str]:
    """Take `--no-plugins`, `--disable-plugin NAME` and `--debug` out of the arguments, wherever they stand."""
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
            state.disabled.add(next(waiting, ""))
        elif argument.startswith("--disable-plugin="):
            state.disabled.add(argument.partition("=")[2])
        else:
            rest.append(argument)
    return rest
