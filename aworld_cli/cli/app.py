"""The Typer app. Nothing heavy is imported here, nor by the command modules until a command runs."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from aworld_cli import __version__
from aworld_cli.cli import output, plugins, run, validate
from aworld_cli.cli.state import read_global_options, state
from aworld_cli.errors import AWorldError, PluginError
from aworld_cli.host.component import Command


class RootGroup(typer.core.TyperGroup):
    """Adds the plugins' command groups, and turns expected mistakes into one line and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return [*own, *sorted(c.name for c in state.registry().commands() if c.name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = [command for command in state.registry().commands() if command.name == cmd_name]
        return PluginGroup(found[0]) if found else None

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except AWorldError as error:
            if state.debug:
                raise
            output.error(str(error))
            raise typer.Exit(error.exit_code) from error
        except KeyboardInterrupt as error:
            output.error("interrupted")
            raise typer.Exit(130) from error


class PluginGroup(typer.core.TyperGroup):
    """A plugin's command group; its module is imported only when one of its commands is named."""

    def __init__(self, command: Command) -> None:
        super().__init__(name=command.name, help=command.summary, no_args_is_help=True)
        self._app = command.app
        self._group: Any = None

    def _load(self) -> Any:
        if self._group is None:
            module, _, attribute = self._app.partition(":")
            try:
                app = getattr(importlib.import_module(module), attribute)
            except (Exception, SystemExit) as error:
                message = f"the command {self.name!r} cannot be loaded: {type(error).__name__}: {error}"
                raise PluginError(message) from error
            self._group = typer.main.get_group(app)
        return self._group

    def list_commands(self, ctx: Any) -> list[str]:
        found: list[str] = self._load().list_commands(ctx)
        return found

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self._load().get_command(ctx, cmd_name)


app = typer.Typer(
    name="aworld",
    cls=RootGroup,
    help="Agentic reinforcement learning from the command line: rollouts, evaluation, training.",
    epilog="Before any command: --no-plugins, --disable-plugin NAME, --debug (tracebacks).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
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
    """Run the command line."""
    app(args=read_global_options(sys.argv[1:]), prog_name="aworld")
