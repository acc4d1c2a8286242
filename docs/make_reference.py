"""Writes docs/reference.md from the code: `python docs/make_reference.py`; with `--check` it only compares."""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from aworld_cli.agent.limits import LIMITS
from aworld_cli.cli.app import app
from aworld_cli.cli.state import state
from aworld_cli.errors import EXIT_CODES
from aworld_cli.host import hooks
from aworld_cli.host.component import KINDS
from aworld_cli.host.loader import GROUP, load_plugins
from aworld_cli.host.registry import Registered, Registry
from aworld_cli.recipe import keep, schema
from aworld_cli.recipe.describe import default_words, models_in, type_words
from aworld_cli.settings.base import Settings
from aworld_cli.settings.variables import KNOWN

TARGET = Path(__file__).with_name("reference.md")
OURS = ("aworld-arithmetic", "aworld-cli", "aworld-local", "aworld-openai", "aworld-toolbox", "aworld-verl")
RECIPE: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The recipe", schema.Recipe),
    ("`sampling`", schema.Sampling),
    ("A component, such as `model` or `environment`", schema.ComponentChoice),
    ("The stage `rollout`", schema.RolloutStage),
    ("The stage `eval`", schema.EvalStage),
    ("The stage `sft`", schema.SftStage),
    ("The stage `train`", schema.TrainStage),
)
#: Models that have a section of their own, or none.
_ELSEWHERE = (schema.ComponentChoice, schema.Sampling)


def main() -> int:
    """Write the page, or compare it."""
    text = reference()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    print(f"{TARGET.name} is out of date: run python docs/make_reference.py", file=sys.stderr)
    return 1


def reference() -> str:
    """Return the page."""
    parts = [
        "# Reference",
        "Made from the code by `python docs/make_reference.py`; a test keeps it current. Do not edit it.",
        "## Recipe",
        "A recipe is one YAML file; unknown keys are errors. `extends` names one base recipe, or a list of them, whose "
        "values hold where this file says nothing ([recipes.md](recipes.md) has the rules). The other keys:",
    ]
    for title, model in RECIPE:
        parts += [f"### {title}", *_model(model)]
        if issubclass(model, schema.TrainerStage):
            parts.append("Beside these stand the options of the trainer that `kind` names.")
    parts += ["## Expressions in `keep`", *_keep(), "## Components", "What stands beside `kind: NAME`."]
    for item in components():
        made = item.component
        parts += [f"### {made.kind} `{made.name}`", f"{made.summary}. From {item.plugin.distribution}."]
        parts += _model(item.config_model(), doc=False)
    parts += ["## Limits", "What the field `limit` of a record may say."]
    parts.append(_table(("limit", "meaning"), [(f"`{name}`", meaning) for name, meaning in LIMITS.items()]))
    parts += ["## Settings", *_settings(), "## Environment variables", *_variables(), "## Exit codes"]
    parts.append(_table(("code", "meaning"), [(str(code), meaning) for code, meaning in EXIT_CODES]))
    parts += ["## Hooks", *_hooks(), "## Commands"]
    for command, text in helps():
        parts += [f"### {command}", f"```text\n{text}\n```"]
    return "\n\n".join(parts) + "\n"


def components() -> list[Registered]:
    """Return the components of this repository's plugins, by kind and name.

    Raises:
        SystemExit: one of the plugins is not installed, or does not load.
    """
    plugins = [plugin for plugin in load_plugins(disabled=_others()) if plugin.distribution in OURS]
    absent = set(OURS) - {plugin.distribution for plugin in plugins if plugin.status == "ok"}
    if absent:
        raise SystemExit(f"install these first: {', '.join(sorted(absent))}")
    found = Registry(plugins).components()
    return sorted(found, key=lambda item: (KINDS.index(item.component.kind), item.component.name))


def undescribed() -> list[str]:
    """Return every public option that has no description."""
    models = [model for _, model in RECIPE] + [item.config_model() for item in components()] + [Settings]
    nested = [inner for model in models for inner in _nested(model)]
    return [
        f"{model.__name__}.{name}"
        for model in (*models, *nested)
        for name, field in model.model_fields.items()
        if not (field.description or "").strip()
    ]


def _others() -> set[str]:
    from importlib.metadata import entry_points

    return {point.dist.name for point in entry_points(group=GROUP) if point.dist is not None} - set(OURS)


def _model(model: type[BaseModel], *, doc: bool = True) -> Iterator[str]:
    if doc:
        yield inspect.cleandoc(model.__doc__ or "")
    yield _table(("option", "type", "default", "description"), _rows(model))
    for name, field in model.model_fields.items():
        for inner in dict.fromkeys(models_in(field.annotation)):
            if inner not in _ELSEWHERE:
                yield f"`{name}`: {inspect.cleandoc(inner.__doc__ or '')}"
                yield from _model(inner, doc=False)


def _rows(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        yield f"`{field.alias or name}`", _type(field), _default(field), field.description or ""


def _nested(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            yield inner
            yield from _nested(inner)


def _type(field: FieldInfo) -> str:
    return type_words(field, "`")


def _default(field: FieldInfo) -> str:
    words = default_words(field)
    return f"`{words}`" if words and not field.is_required() else words


def _keep() -> Iterator[str]:
    yield inspect.cleandoc(keep.__doc__ or "")
    yield "A record's fields: " + ", ".join(f"`{name}`" for name in sorted(keep.FIELDS)) + "."
    for name, parts in sorted(keep.PARTS.items()):
        if parts is None:
            yield f"`{name}.…`: whatever the record holds there."
        else:
            yield f"In `{name}`: " + ", ".join(f"`{name}.{part}`" for part in parts) + "."


def _settings() -> Iterator[str]:
    yield (
        "A command-line flag goes before a variable, a variable before the user's `config.toml` (in `aworld/` below "
        "`XDG_CONFIG_HOME` or `~/.config`), the file before the default. A variable that is empty counts as not set."
    )
    prefix = Settings.model_config["env_prefix"]
    rows = [
        (f"`{name}`", f"`{prefix}{name.upper()}`", _type(field), _default(field), field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    yield _table(("key in config.toml", "variable", "type", "default", "description"), rows)


def _variables() -> Iterator[str]:
    yield "What `aworld` reads from the environment; recipes take other variables by `${env:NAME}`."
    yield _table(("variable", "what it is for"), [(f"`{name}`", text) for name, text in KNOWN.items()])


def _hooks() -> Iterator[str]:
    yield (
        "What a plugin's module may implement, each marked `@hookimpl`; an implementation may take fewer of the "
        "arguments. [plugins.md](plugins.md) explains them."
    )
    for name, function in inspect.getmembers(hooks, inspect.isfunction):
        if name.startswith("aworld_"):
            yield f"`{name}{inspect.signature(function)}`: {inspect.cleandoc(function.__doc__ or '')}"


def helps() -> Iterator[tuple[str, str]]:
    """Yield each command, groups before what is in them, and its help."""
    with tempfile.TemporaryDirectory() as empty:
        # A user's settings and plugins must not show.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AWORLD_")}
        disabled = ",".join(sorted(_others()))
        with _environment({**kept, "AWORLD_HOME": empty, "AWORLD_DISABLE_PLUGINS": disabled}):
            state.forget()
            root = typer.main.get_command(app)
            yield from _walk("aworld", root, None)
            state.forget()


def _walk(name: str, command: Any, parent: Any) -> Iterator[tuple[str, str]]:
    context = command.make_context(
        name.rpartition(" ")[2], [], parent=parent, resilient_parsing=True, terminal_width=100, max_content_width=100
    )
    yield name, "\n".join(line.rstrip() for line in context.get_help().strip().splitlines())
    if hasattr(command, "list_commands"):
        for inner in command.list_commands(context):
            yield from _walk(f"{name} {inner}", command.get_command(context, inner), context)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
