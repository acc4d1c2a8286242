"""`aworld models`: the models in this machine's cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from aworld_cli.errors import UsageError, did_you_mean
from aworld_local.models import KNOWN, model_directory

app = typer.Typer(help="Models in this machine's cache.", rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def models(context: typer.Context) -> None:
    """Models in this machine's cache; without a command, list them."""
    if context.invoked_subcommand is None:
        list_models()


@app.command("list")
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")] = False,
) -> None:
    """List the models that can be fetched, and where the fetched ones are."""
    rows = [_describe(name, model_directory(name)) for name in KNOWN]
    if as_json:
        for row in rows:
            typer.echo(json.dumps(row, ensure_ascii=False))
        return
    for row in rows:
        state = f"{row['bytes'] / 1e6:.0f} MB in {row['path']}" if row["cached"] else "not fetched"
        typer.echo(f"{row['name']:<12} {state}")


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help=f"Which model: {', '.join(KNOWN)}.")],
    again: Annotated[bool, typer.Option("--again", help="Fetch it even if it is there.")] = False,
) -> None:
    """Fetch a model into the cache, ready for `model: {kind: local, path: NAME}`; prints its directory."""
    if name not in KNOWN:
        raise UsageError(f"no model is called {name!r}{did_you_mean(name, KNOWN)}")
    directory = model_directory(name)
    if again or not (directory / "config.json").is_file():
        from aworld_local import smollm2

        typer.echo(f"fetching {name} (93 MB) into {directory} ...", err=True)
        smollm2.fetch(directory)
    typer.echo(str(directory))


def _describe(name: str, directory: Path) -> dict[str, Any]:
    cached = (directory / "config.json").is_file()
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()) if cached else 0
    return {"name": name, "cached": cached, "bytes": size, "path": str(directory)}
