"""Writes docs/reference.md from the code: `python docs/make_reference.py`; with `--check` it only compares."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from aworld_cli.host.component import KINDS
from aworld_cli.host.loader import GROUP, load_plugins
from aworld_cli.host.registry import Registered, Registry
from aworld_cli.recipe import keep, schema
from aworld_cli.settings import Settings

TARGET = Path(__file__).with_name("reference.md")
OURS = ("aworld-arithmetic", "aworld-cli", "aworld-local", "aworld-openai", "aworld-toolbox", "aworld-verl")
COMMANDS = ("", "run", "validate", "plugins", "models")
RECIPE: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The recipe", schema.Recipe),
    ("`sampling`", schema.Sampling),
    ("A component, such as `model` or `environment`", schema.ComponentChoice),
    ("The stage `rollout`", schema.RolloutStage),
    ("The stage `eval`", schema.EvalStage),
    ("The stage `sft`", schema.SftStage),
    ("The stage `train`", schema.TrainStage),
)
EXIT_CODES = (
    (0, "done"),
    (1, "done, but more episodes failed for infrastructure's sake than `max_errors` allows"),
    (2, "the command line or a setting is wrong"),
    (3, "stopped before the end; `aworld run --resume RUN` goes on"),
    (4, "the recipe is wrong"),
    (5, "a plugin that is needed is missing, broken, incompatible or ambiguous"),
    (6, "the machine lacks something: a key, a program, a package, data, an endpoint"),
    (130, "interrupted; `aworld run --resume RUN` goes on"),
)
_NAMES: dict[object, str] = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "boolean",
    Any: "any value",
    Path: "path",
    type(None): "null",
    SecretStr: "text, kept secret",
    schema.ComponentChoice: "component",
}
_BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


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
        "A recipe is one YAML file. Unknown keys are errors.",
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
    parts += ["## Settings", *_settings(), "## Exit codes"]
    parts.append(_table(("code", "meaning"), [(str(code), meaning) for code, meaning in EXIT_CODES]))
    parts.append("## Commands")
    with tempfile.TemporaryDirectory() as empty:
        for command in COMMANDS:
            parts += [f"### aworld{command and ' '}{command}", f"```text\n{_help(command, empty)}\n```"]
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
        for inner in _models_in(field.annotation):
            if inner not in _NAMES and inner is not schema.Sampling:
                yield f"`{name}`: {inspect.cleandoc(inner.__doc__ or '')}"
                yield from _model(inner, doc=False)


def _rows(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        yield f"`{field.alias or name}`", _type(field), _default(field), field.description or ""


def _nested(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for field in model.model_fields.values():
        for inner in _models_in(field.annotation):
            yield inner
            yield from _nested(inner)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _type(field: FieldInfo) -> str:
    return ", ".join([_annotation(field.annotation), *_limits(field)])


def _annotation(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if annotation in _NAMES:
        return _NAMES[annotation]
    if origin is Annotated:
        return _annotation(parts[0])
    if origin in (Literal, Union, types.UnionType):
        return " or ".join(
            f"`{part}`" if origin is Literal else _annotation(part) for part in parts if part is not type(None)
        )
    if origin is tuple:
        return f"list of {_annotation(parts[0])}"
    if origin is dict:
        return "mapping" if parts[1] is Any else f"mapping of {_annotation(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "mapping"
    raise TypeError(f"no words for the type {annotation!r}")


def _limits(field: FieldInfo) -> Iterator[str]:
    bounds = {name: getattr(item, name) for item in field.metadata for name in _BOUNDS if hasattr(item, name)}
    if {"ge", "le"} <= bounds.keys():
        yield f"{bounds.pop('ge')} to {bounds.pop('le')}"
    yield from (f"{_BOUNDS[name]} {bound}" for name, bound in bounds.items())
    for item in field.metadata:
        if getattr(item, "pattern", None):
            yield f"matches `{item.pattern}`"
        if getattr(item, "min_length", None):
            yield "not empty"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return ""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_defaults=True)
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, tuple):
        value = list(value)
    shown = yaml.safe_dump(value, default_flow_style=True, width=1_000).removesuffix("...\n").strip()
    return f"`{shown}`"


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
    yield (
        "`AWORLD_CACHE_DIR`, which has no key, is where `aworld models` keeps what it fetches: else `aworld` below "
        "`XDG_CACHE_HOME` or `~/.cache`."
    )


def _help(command: str, empty: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWORLD_")}
    set_ = {"COLUMNS": "100", "XDG_CONFIG_HOME": empty, "AWORLD_DISABLE_PLUGINS": ",".join(sorted(_others()))}
    arguments = [sys.executable, "-m", "aworld_cli", *command.split(), "--help"]
    where = TARGET.parents[1]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=where, env={**kept, **set_})
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
