"""Commands that are imported only when they are named: the core's own, and the plugins' groups."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer
import typer.core
import typer.main
from typer.exceptions import TyperException

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import AWorldError, PluginError
from aworld_cli.host.component import Command
from aworld_cli.host.containment import contained, describe
from aworld_cli.host.loader import Plugin


@dataclass(frozen=True, slots=True)
class OwnCommand:
    """A command of the core; `target` is `"module:attr"` of a function, or of a Typer app for a group."""

    name: str
    target: str
    summary: str


#: In the order in which `--help` lists them.
COMMANDS = (
    OwnCommand("init", "aworld_cli.cli.init:init", "Write a starter recipe, commented, for a case of yours."),
    OwnCommand("run", "aworld_cli.cli.run:run", "Run a recipe's stages in order: collect rollouts, train, evaluate."),
    OwnCommand("runs", "aworld_cli.cli.runs:app", "Look at runs: list, show, diff, rescore, export, resume, rm."),
    OwnCommand("validate", "aworld_cli.cli.validate:validate", "Check recipes without starting anything."),
    OwnCommand("config", "aworld_cli.cli.config:config", "Show every effective value, and where it comes from."),
    OwnCommand("schema", "aworld_cli.cli.schema:schema", "Write the JSON Schema of recipes, for editors."),
    OwnCommand("plugins", "aworld_cli.cli.plugins:app", "List plugins; show, install, uninstall, write one."),
    OwnCommand("doctor", "aworld_cli.cli.doctor:doctor", "Check what this machine has, and how to mend what it lacks."),
)
_OWN = {command.name: command for command in COMMANDS}


class RootGroup(typer.core.TyperGroup):
    """All commands by name. Help and completion know the core's own without importing them."""

    _completing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return [*_OWN, *(name for name, _ in _plugin_summaries())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if self._completing:
            summaries = {**{own.name: own.summary for own in COMMANDS}, **dict(_plugin_summaries())}
            return typer.core.TyperCommand(cmd_name, help=summaries.get(cmd_name))
        own = _OWN.get(cmd_name)
        if own is not None:
            return _load(own)
        found = [PluginGroup(*item) for item in state.registry().commands() if item[0].name == cmd_name]
        return found[0] if found else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [(command.name, command.summary) for command in COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        from_plugins = list(_plugin_summaries(warn=True))
        if from_plugins:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(from_plugins)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete names of commands from their summaries, without importing the commands."""
        self._completing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._completing = False

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in _OWN:  # one of ours loads plugins only where it needs them
            names: Any = dict.fromkeys(self.list_commands(ctx))
            self.commands = names  # what Typer looks among for a near name
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _interruptible():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _interruptible():
            return super().invoke(ctx)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Typer would end in silence."""
    try:
        yield
    except KeyboardInterrupt as error:
        output.error("interrupted")
        raise typer.Exit(130) from error


def _load(own: OwnCommand) -> Any:
    module, _, attribute = own.target.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    if isinstance(found, typer.Typer):
        command: Any = typer.main.get_group(found)
    else:
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(own.name)(found)
        command = typer.main.get_command(single)
    command.name = own.name
    return command


def _plugin_summaries(*, warn: bool = False) -> Iterator[tuple[str, str]]:
    """Yield name and summary of the plugins' groups; help must come whatever is wrong."""
    try:
        commands = state.registry().commands()
    except AWorldError as error:
        if warn:
            output.warning(str(error))
        return
    shown = {command.name: command.summary for command, _ in reversed(commands) if command.name not in _OWN}
    yield from sorted(shown.items())


class PluginGroup(typer.core.TyperGroup):
    """A plugin's command group; its module is imported only when the group is named.

    Without a command it shows its help, unless the plugin's app has a callback with `invoke_without_command=True`.
    """

    def __init__(self, command: Command, plugin: Plugin) -> None:
        super().__init__(name=command.name, help=command.summary, rich_markup_mode=None)
        self._app = command.app
        self._title = f"the command {command.name!r} of {plugin.distribution}"
        self._group: Any = None

    def _load(self) -> Any:
        if self._group is None:
            module, _, attribute = self._app.partition(":")
            try:
                with contained():
                    self._group = typer.main.get_group(getattr(importlib.import_module(module), attribute))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a plugin may raise anything
                raise PluginError(f"{self._title} cannot be loaded ({self._app}): {describe(error)}") from error
        return self._group

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        group = self._load()
        self.callback, self.params = group.callback, group.params
        self.invoke_without_command = group.invoke_without_command
        self.no_args_is_help = not group.invoke_without_command
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def list_commands(self, ctx: Any) -> list[str]:
        found: list[str] = self._load().list_commands(ctx)
        return found

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._load().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (AWorldError, TyperException, typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except Exception as error:
            raise PluginError(f"{self._title} failed: {describe(error)}") from error
