"""Trainers: they judge and show their options without training. `Conformance(recipe=...)` really trains."""

from __future__ import annotations

import inspect
import json
from typing import Any

from aworld_cli.errors import AWorldError
from aworld_cli.host.component import Component
from aworld_cli.host.loader import Plugin
from aworld_cli.host.registry import Registry, describe
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.loading import plan_document
from aworld_cli.recipe.plan import Plan
from aworld_cli.testing.check import Check, fail
from aworld_cli.testing.subject import Subject
from aworld_cli.trainer.base import Trainer


def checks(subject: Subject) -> list[Check]:
    """Return the checks of a trainer."""
    return [
        subject.check("checks its options", _checks_options),
        subject.check("shows what it would do", _previews),
        subject.check("prepare and train are coroutines", _coroutines),
    ]


def _plan(subject: Subject) -> Plan:
    """Return the plan of a recipe that trains on the kit's tasks."""
    from aworld_cli import builtin

    kit = Component(
        kind="environment",
        name="conformance-kit",
        summary="Sums",
        factory="aworld_cli.testing.stage:kit_environment",
        config="aworld_cli.testing.stage:KitConfig",
    )
    ours = Plugin("conformance", "aworld-cli", "0", "ok", "", (*builtin.aworld_components(), kit))
    train = {"kind": subject.component.name, "split": "train", **(subject.options or {})}
    value: dict[str, Any] = {
        "aworld": 1,
        "name": "conformance",
        "model": {"kind": "scripted", "replies": ["4"]},
        "environment": {"kind": kit.name},
        "stages": [{"train": train}],
    }
    own = [subject.registered.plugin] if subject.registered.plugin.name != "builtin" else []
    try:
        return plan_document(Document("conformance", value), Registry([*own, ours]))
    except AWorldError as error:
        fail(f"{subject.title}: cannot stand in a recipe: {error}", error)


def _checks_options(subject: Subject) -> None:
    trainer: Trainer = subject.make()
    plan = _plan(subject)
    for tasks in (0, 1, 64):
        try:
            problems = trainer.check(plan, tasks)
        except AWorldError:
            continue
        except Exception as error:
            subject.fail(f"check() with {tasks} tasks raised {describe(error)}; return what is wrong instead", error)
        sound = isinstance(problems, dict) and all(isinstance(item, str) for pair in problems.items() for item in pair)
        subject.require(sound, f"check() gave {problems!r}, not texts by the option's name")
        known = {field.alias or name for name, field in subject.config_model().model_fields.items()} | {"kind"}
        unknown = sorted(key for key in problems if key.partition(".")[0] not in known)
        subject.require(not unknown, f"check() blames {unknown}, which are no options of it; errors point at a key")


def _previews(subject: Subject) -> None:
    trainer: Trainer = subject.make()
    try:
        shown = trainer.preview(_plan(subject))
    except AWorldError as error:
        subject.skip(str(error))
    except Exception as error:
        subject.fail(f"preview() raised {describe(error)}, which would break --dry-run", error)
    subject.require(isinstance(shown, dict), f"preview() gave a {type(shown).__name__}, not a mapping to show")
    try:
        json.dumps(shown, allow_nan=False)
    except (TypeError, ValueError) as error:
        subject.fail(f"preview() gave what is not JSON, for --dry-run --json: {error}", error)
    subject.require(trainer.preview(_plan(subject)) == shown, "preview() differs from call to call")


def _coroutines(subject: Subject) -> None:
    trainer: Trainer = subject.make()
    for name in ("prepare", "train"):
        method = getattr(trainer, name, None)
        subject.require(inspect.iscoroutinefunction(method), f"{name} must be `async def {name}(self, context)`")
        try:
            inspect.signature(method).bind(object())  # type: ignore[arg-type]
        except TypeError as error:
            subject.fail(f"{name} must take the TrainerContext and nothing else: {error}", error)
