"""What holds for every component: its references exist, and making it starts nothing."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aworld_cli.errors import AWorldError, PluginError
from aworld_cli.host.registry import describe
from aworld_cli.model.base import ModelContext
from aworld_cli.resources import HasResources, Resources
from aworld_cli.testing.check import Check, fail
from aworld_cli.testing.subject import Subject


def checks(subject: Subject) -> list[Check]:
    """Return the checks of a component of whatever kind."""
    return [
        subject.check("factory and config exist", _references),
        subject.check("is made, and starts nothing", _made),
        subject.check("tells its resources", _resources),
    ]


def _references(subject: Subject) -> None:
    for load in (subject.registered.config_model, subject.registered.factory):
        try:
            load()
        except PluginError as error:
            fail(f"{error}; correct the reference, or what it names", error)


def _made(subject: Subject) -> None:
    """`aworld validate` makes components too. A surviving process or thread fails the check by itself."""
    config, arguments = subject.config(), _arguments(subject)
    try:
        factory = subject.registered.factory()
        _fits(subject, factory, [config, *arguments])
        made = factory(config, *arguments)
    except PluginError as error:
        fail(str(error), error)
    except AWorldError:
        return  # it cannot be made here, and says so as it should
    except (Exception, SystemExit) as error:
        fail(f"{subject.title}: its factory raised {_said(error)}", error)
    name = getattr(made, "name", None)
    subject.require(
        isinstance(name, str) and name,
        f"its factory made a {type(made).__name__} without a `name`, by which records and messages call it",
    )


def _fits(subject: Subject, factory: Any, arguments: Sequence[Any]) -> None:
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return  # not every callable has one
    try:
        signature.bind(*arguments)
    except TypeError as error:
        given = "(options, context: ModelContext)" if len(arguments) > 1 else "(options)"
        subject.fail(f"its factory takes {signature}, and that of a {subject.component.kind} is given {given}: {error}")


def _arguments(subject: Subject) -> list[Any]:
    return [ModelContext(run_dir=Path("unused"), seed=0)] if subject.component.kind == "model" else []


def _resources(subject: Subject) -> None:
    """`aworld run --dry-run` asks; a component need not know."""
    made = subject.make(*_arguments(subject))
    if not isinstance(made, HasResources):
        return
    try:
        told = made.resources()
    except Exception as error:
        subject.fail(
            f"resources() raised {describe(error)}; say in `unknown` what cannot be told before a start", error
        )
    subject.require(isinstance(told, Resources), f"resources() gave a {type(told).__name__}, not a resources.Resources")
    options = {field.alias or name for name, field in subject.config_model().model_fields.items()}
    unknown = sorted({limit.partition(".")[0] for limit in told.limits} - options)
    subject.require(not unknown, f"resources() names the limits {unknown}, which are no options of it")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}; what is expected to go wrong is an AWorldError (MachineError) instead"
