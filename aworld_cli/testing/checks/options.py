"""The options of a component: strict, documented, with valid defaults, their secrets out of sight."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, RootModel, SecretBytes, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from aworld_cli.recipe.secrets import speaks_of_secret
from aworld_cli.testing.check import Check, fail
from aworld_cli.testing.subject import Subject

#: What recipes say beside a component's options: an option of the name could never be given.
_TAKEN = {"trainer": ("kind", "name", "split", "tasks", "from")}
_UNKNOWN = "no_such_option_"


def checks(subject: Subject) -> list[Check]:
    """Return the checks of the options' model; none of them runs the component."""
    return [
        subject.check("options are strict", _strict),
        subject.check("options are documented", _documented),
        subject.check("option names are free", _names),
        subject.check("defaults are valid", _defaults),
        subject.check("secrets are hidden", _secrets),
    ]


def _strict(subject: Subject) -> None:
    for model in models(subject.config_model()):
        subject.require(
            model.model_config.get("extra") == "forbid",
            f"{model.__name__} takes unknown keys, so a mistyped option is lost without a word; give it "
            'model_config = ConfigDict(extra="forbid")',
        )
    try:
        subject.config_model().model_validate({**(subject.options or {}), _UNKNOWN: 1})
    except ValidationError as error:
        if any(item["type"] == "extra_forbidden" and item["loc"] == (_UNKNOWN,) for item in error.errors()):
            return
        if subject.options is None:
            return  # a `before` validator may have its say first where something is missing
    except Exception as error:
        subject.fail(f"its options' model raised {error!r} for an unknown key; validators raise ValueError only", error)
    subject.fail("its options' model accepts an unknown key; a `before` validator must not swallow it")


def _documented(subject: Subject) -> None:
    for model, name, field in fields(subject.config_model()):
        subject.require(
            (field.description or "").strip(),
            f"the option {model.__name__}.{name} has no description, which `aworld plugins show` and editors show; "
            'give it Field(..., description="...")',
        )
    try:
        subject.config_model().model_json_schema(mode="validation")
    except Exception as error:
        subject.fail(f"its options have no JSON Schema, which `aworld schema` is composed of: {error}", error)


def _names(subject: Subject) -> None:
    taken = _TAKEN.get(subject.component.kind, ("kind",))
    for name, field in subject.config_model().model_fields.items():
        said = field.alias or name
        subject.require(said not in taken, f"the option {said!r} can never be given: a recipe says {said!r} itself")


def _defaults(subject: Subject) -> None:
    for model, name, field in fields(subject.config_model()):
        if field.is_required() or field.default_factory_takes_validated_data:
            continue
        default = field.get_default(call_default_factory=True)
        kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        try:
            TypeAdapter(kind).validate_python(default)
        except ValidationError as error:
            fail(f"{subject.title}: the default {default!r} of {model.__name__}.{name} is not valid: {error}", error)
    try:
        made = subject.config_model()()
    except ValidationError:
        return  # something must be given
    try:
        again = subject.config_model().model_validate(made.model_dump(by_alias=True, warnings=False))
    except ValidationError as error:
        fail(f"{subject.title}: its options do not take their own defaults, written out: {error}", error)
    subject.require(again == made, "its options, written out and read again, are not the same")


def _secrets(subject: Subject) -> None:
    for model, name, field in fields(subject.config_model()):
        kinds = set(flat(field.annotation))
        shown = kinds & {str, bytes} and not any(_hides(kind) for kind in kinds)
        subject.require(
            not (shown and speaks_of_secret(field.alias or name)),
            f"the option {model.__name__}.{name} looks like a credential and is plain text, so it would be written to "
            "the run's files; make it a pydantic.SecretStr",
        )


def _hides(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, SecretStr | SecretBytes)


def models(root: type[BaseModel]) -> list[type[BaseModel]]:
    """Return the model and those within it that have keys of their own, each once."""
    found: list[type[BaseModel]] = []
    waiting: list[type[BaseModel]] = [root]
    while waiting:
        model = waiting.pop(0)
        if model in found:
            continue
        found.append(model)
        kinds = (kind for field in model.model_fields.values() for kind in flat(field.annotation))
        waiting += [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return [model for model in found if not issubclass(model, RootModel)]


def fields(root: type[BaseModel]) -> Iterator[tuple[type[BaseModel], str, FieldInfo]]:
    """Yield each field of the model and of those within it."""
    for model in models(root):
        for name, field in model.model_fields.items():
            yield model, name, field


def flat(annotation: Any) -> Iterator[Any]:
    """Yield the plain types within an annotation: of unions, of containers and of marks on them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from flat(get_args(annotation)[0])
    elif origin is not None or isinstance(annotation, types.UnionType) or annotation is Union:
        for argument in get_args(annotation):
            yield from flat(argument)
    else:
        yield annotation
