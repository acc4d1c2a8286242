"""`aworld config`: every value in effect, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state

Row = dict[str, Any]


def config(
    recipe: Annotated[Path | None, typer.Argument(help="A recipe, to show its values too.", show_default=False)] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the recipe first; repeatable."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="PREFIX", help="Only keys that begin so, as in `model`.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a value.")] = False,
) -> None:
    """Show every setting, and with a recipe every value of it: what it is and where it comes from.

    A command-line flag goes before `--set`, that before `AWORLD_*` variables, those before the recipe, that before the
    files it extends, those before config.toml, and that before the defaults. Secrets show as their references.
    """
    from aworld_cli.errors import UsageError

    if recipe is None and settings:
        raise UsageError("--set changes values of a recipe; name one")
    rows = [*_settings(), *(_ambient() if recipe is None else _recipe(recipe, settings or []))]
    shown = [row for row in rows if key is None or _below(row["key"], key)]
    if key is not None and not shown:
        from aworld_cli.errors import did_you_mean

        near = did_you_mean(key, {row["key"].split(".")[0].split("[")[0] for row in rows})
        raise UsageError(f"--key {key}: nothing is called so{near if 'did you mean' in near else ''}")
    if as_json:
        for row in shown:
            output.result_json(row)
    else:
        _show(shown)


def _below(key: str, prefix: str) -> bool:
    return key == prefix or (key.startswith(prefix) and (prefix[-1:] in (".", "]", "") or key[len(prefix)] in ".["))


def _settings() -> Iterator[Row]:
    from aworld_cli.settings.base import effective_settings
    from aworld_cli.settings.places import cache_directory, config_file, config_path

    flags: dict[str, tuple[str, Any]] = {}
    if state.disabled:
        flags["disable_plugins"] = ("--disable-plugin", sorted(state.disabled))
    for item in effective_settings(flags):
        yield _row("settings", item.name, item.value, item.layer, item.origin)
    found, wanted = config_file(), _path(config_path)
    yield _row("places", "config.toml", wanted, "default", "read" if found is not None else "there is none")
    yield _row("places", "cache", _path(cache_directory), "default", "fetched models")


def _ambient() -> Iterator[Row]:
    """Yield what config.toml and variables say of every recipe."""
    from aworld_cli.recipe.layers import ambient_values

    for key, value, place in ambient_values():
        yield _row("recipe", f"recipe.{key}", value, place.layer, str(place))


def _path(find: Any) -> str | None:
    try:
        return str(find())
    except RuntimeError:  # no home directory
        return None


def _recipe(recipe: Path, settings: list[str]) -> Iterator[Row]:
    from aworld_cli.recipe.effective import effective_values
    from aworld_cli.recipe.loading import load_plan

    plan = load_plan(recipe, state.registry(), settings)
    for value in effective_values(plan):
        place = value.place
        layer = "default" if place is None else place.layer
        row = _row("recipe", value.key, value.value, layer, value.origin)
        if place is not None and place.line is not None:
            row |= {"file": place.source, "line": place.line, "column": place.column}
        yield row


def _row(scope: str, key: str, value: Any, layer: str, origin: str) -> Row:
    return {"scope": scope, "key": key, "value": value, "layer": layer, "origin": origin}


def _show(rows: list[Row]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("key", "value", "origin"):
        table.add_column(heading, overflow="fold")
    scope = rows[0]["scope"] if rows else ""
    for row in rows:
        if row["scope"] != scope:
            table.add_section()
            scope = row["scope"]
        table.add_row(*(Text(_plain(row[column])) for column in ("key", "value", "origin")))
    output.console(stderr=False).print(table)


def _plain(value: Any) -> str:
    """Return a value on one line, as YAML would have it; in quotes where nothing else shows what is in a text."""
    if isinstance(value, str) and value and value.isprintable():
        return value
    return json.dumps(value, ensure_ascii=isinstance(value, str))
