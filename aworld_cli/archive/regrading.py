"""Of a run's recipe, what grading takes: the environment, and the stages that collect.

Models, tools and trainers are left out, so that a run can be graded where they are not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aworld_cli.archive.store import StoredRun, StoredStage
from aworld_cli.errors import UsageError
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.loading import plan_document
from aworld_cli.recipe.overrides import apply_overrides
from aworld_cli.recipe.plan import Plan

_STAGE_KEYS = ("split", "tasks", "samples", "k")


def grading_plan(
    run: StoredRun, stages: Sequence[StoredStage], registry: Registry, settings: Sequence[str]
) -> tuple[Plan, dict[str, Any]]:
    """Return a plan to grade with, and the environment's options as they are written (references stay references).

    Args:
        settings: `environment.KEY=VALUE` changes.

    Raises:
        UsageError: a setting is of another part of the recipe.
        RecipeError: the options do not hold; PluginError: the environment is missing or broken.
    """
    for setting in settings:
        if setting.partition("=")[0].split(".")[0].strip() != "environment":
            raise UsageError(f"--set {setting.partition('=')[0].strip()}: only environment.KEY can change in a rescore")
    given = run.lock["recipe"]
    value = {key: given[key] for key in ("aworld", "name", "environment") if key in given}
    value["model"] = {"kind": "scripted", "replies": ["-"]}
    value["stages"] = [
        {stage.kind: {"name": stage.name, **{key: stage.spec[key] for key in _STAGE_KEYS if key in stage.spec}}}
        for stage in stages
    ]
    document = Document(str(run.path / "lock.json"), value)
    apply_overrides(document, list(settings))
    return plan_document(document, registry), dict(document.value["environment"])
