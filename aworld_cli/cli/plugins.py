"""`aworld plugins`: what is installed and whether it loaded; what an option means; install and uninstall."""

from __future__ import annotations

from typing import Annotated

import typer

from aworld_cli.cli.completion import complete_installed, complete_shown
from aworld_cli.cli.plugins_new import new

app = typer.Typer(
    help="List plugins and the components that they offer; show, install, uninstall, write one.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

AsJson = Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")]
Check = Annotated[
    bool, typer.Option("--check", help="Load every component and command too; exit 1 when one cannot be loaded.")
]


@app.callback(invoke_without_command=True)
def plugins(context: typer.Context, as_json: AsJson = False, check: Check = False) -> None:
    """List plugins and the components and commands that they offer; show, install, uninstall or write a plugin.

    The list loads the plugins' modules, none of their components: --check does.
    """
    if context.invoked_subcommand is None:
        list_(as_json, check)
    elif as_json or check:
        raise typer.BadParameter("write --json and --check after the command's name")


@app.command("list")
def list_(as_json: AsJson = False, check: Check = False) -> None:
    """List components, commands and plugins.

    The list loads the plugins' modules, none of their components: --check does.
    """
    from aworld_cli.cli.plugins_list import list_plugins

    list_plugins(as_json=as_json, check=check)


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="A component: NAME, KIND/NAME or DISTRIBUTION/NAME; or a plugin or a distribution.",
            autocompletion=complete_shown,
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Show the options of a component, or what a plugin is."""
    from aworld_cli.cli.plugins_show import show_named

    show_named(name, as_json=as_json)


@app.command(context_settings=_PASS_ON)
def install(
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC...",
            help="What pip takes: a name, name==version, a directory, a wheel, -e DIRECTORY; other options go to pip.",
            show_default=False,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Write what came as one JSON object a line.")] = False,
) -> None:
    """Install plugins with this Python's pip.

    Tells what they offer. Options that are not known here go to pip.
    """
    from aworld_cli.cli.plugins_install import install_plugins

    install_plugins(specs, as_json=as_json)


@app.command(context_settings=_PASS_ON)
def uninstall(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="Plugins or distributions; options that are not known here go to pip.",
            autocompletion=complete_installed,
            show_default=False,
        ),
    ],
) -> None:
    """Uninstall plugins, even broken ones.

    This Python's pip does it, without asking. Options that are not known here go to pip.
    """
    from aworld_cli.cli.plugins_install import uninstall_plugins

    uninstall_plugins(names)


app.command()(new)
