"""The Typer app. Nothing heavy is imported here, and no command's module until the command is named."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from aworld_cli import __version__
from aworld_cli.cli import output
from aworld_cli.cli.completion import complete_installed
from aworld_cli.cli.groups import RootGroup
from aworld_cli.cli.state import read_global_options, state
from aworld_cli.errors import AWorldError

SUMMARY = "Agentic reinforcement learning from the command line: rollouts, evaluation, training."

app = typer.Typer(
    name="aworld",
    cls=RootGroup,
    help=SUMMARY,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)


def _version(value: bool) -> None:
    if value:
        output.result(f"aworld {__version__}")
        raise typer.Exit()


@app.callback(help=SUMMARY)
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    no_plugins: Annotated[
        bool, typer.Option("--no-plugins", help="Load none but the built-in components; anywhere on the line.")
    ] = False,
    disable_plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--disable-plugin",
            metavar="NAME",
            help="Do not load this plugin; repeatable, anywhere.",
            autocompletion=complete_installed,
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks; anywhere on the line.")] = False,
) -> None:
    """The options are taken out of the command line before (`read_global_options`); here they are for help alone."""


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
