"""`aworld weather`: the stations, or the rain at one."""

from __future__ import annotations

from typing import Annotated

import typer

from aworld_weather.stations import rain

app = typer.Typer(help="The stations and their rain.")


@app.callback(invoke_without_command=True)
def stations(context: typer.Context) -> None:
    """List the stations."""
    if context.invoked_subcommand is None:
        typer.echo("\n".join(rain()))


@app.command()
def show(station: Annotated[str, typer.Argument(help="A station.")]) -> None:
    """Show the rain at a station, month by month."""
    for month, value in rain()[station].items():
        typer.echo(f"{month}\t{value}")
