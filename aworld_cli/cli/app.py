"""The Typer app. Nothing heavy is imported here, nor by the command modules until a command runs."""

from __future__ import annotations

import importlib
import sys
import traceback
from contextlib import redirect_stdout
from typing import Annotated, Any

import typer
import typer.core
import typer.main
from typer.exceptions import TyperException

from aworld_cli import __version__
from aworld_cli.cli import output, plugins, run, validate
from aworld_cli.cli.state import read_global_options, state
from aworld_cli.errors import AWorldError, PluginError
from aworld_cli.host.component import Command
from aworld_cli.host.loader import Plugin
from aworld_cli.host.registry import describe


class RootGroup(typer.core.TyperGroup):
    """Adds the plugins' command groups."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        try:
            commands = state.registry().commands()
        except AWorldError as error:  # help must come whatever is wrong
            output.warning(str(error))
            return own
        return [*own, *sorted({command.name for command, _ in commands} - set(own))]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = [PluginGroup(*item) for item in state.registry().commands() if item[0].name == cmd_name]
        return found[0] if found else None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            output.error("interrupted")
            raise typer.Exit(130) from error


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
                with redirect_stdout(sys.stderr):
                    self._group = typer.main.get_group(getattr(importlib.import_module(module), attribute))
            except (Exception, SystemExit) as error:
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


app = typer.Typer(
    name="aworld",
    cls=RootGroup,
    help="Agentic reinforcement learning from the command line: rollouts, evaluation, training.",
    epilog="Before any command: --no-plugins, --disable-plugin NAME, --debug (tracebacks).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        output.result(f"aworld {__version__}")
        raise typer.Exit()


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Agentic reinforcement learning from the command line: rollouts, evaluation, training."""


app.command("run")(run.run)
app.command("validate")(validate.validate)
app.command("plugins")(plugins.plugins)


def main() -> None:
    """Run the command line; an expected mistake is one line and an exit code."""
    try:
        app(args=read_global_options(sys.argv[1:]), prog_name="aworld")
    except AWorldError as error:
        if state.debug:
            output.say("".join(traceback.format_exception(error)).rstrip())
        output.error(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        output.error("interrupted")
        sys.exit(130)
