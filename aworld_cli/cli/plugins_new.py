"""`aworld plugins new`: write a complete plugin package to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import UsageError, did_you_mean
from aworld_cli.host.component import KINDS, Kind


def new(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help=f"What it offers: {', '.join(KINDS)}.",
            autocompletion=lambda incomplete: [kind for kind in KINDS if kind.startswith(incomplete)],
            show_default=False,
        ),
    ],
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What recipes will call it, such as word-count.", show_default=False)
    ],
    directory: Annotated[
        Path, typer.Option("--directory", metavar="DIR", help="Where its directory, aworld-NAME, is made.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Write what was made as one JSON object.")] = False,
) -> None:
    """Write a new plugin package: working code, a recipe, tests on the conformance kit, README, CI.

    The result is the path of its directory.
    """
    from aworld_cli.scaffold import name_plugin, write_package

    if kind not in KINDS:
        raise UsageError(f"there is no kind of component called {kind!r}{did_you_mean(kind, KINDS)}")
    installed = [(item.component.kind, item.component.name, item.plugin.distribution) for item in _components()]
    names = name_plugin(cast(Kind, kind), name, installed)
    target, files = write_package(names, directory)
    commands = [f"cd {shlex.quote(str(target))}", 'pip install -e ".[test]"', "pytest", "aworld run recipe.yaml"]
    if as_json:
        component = {"kind": kind, "name": names.name}
        made: dict[str, Any] = {"directory": str(target), "distribution": names.distribution, "component": component}
        output.result_json({**made, "files": files, "next": commands})
        return
    output.result(str(target))
    output.say("\n".join(["", "next:", *(f"  {command}" for command in commands)]))


def _components() -> list[Any]:
    return state.registry().components()
