"""From a file to a plan: every component found, every option checked, every problem with its place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.layers import read_recipe
from aworld_cli.recipe.plan import Plan
from aworld_cli.recipe.planner import Planner


def load_plan(path: Path, registry: Registry, settings: Sequence[str] = ()) -> Plan:
    """Read the recipe at `path` with all its layers, apply `--set` settings and check all of it.

    Raises:
        RecipeError: every problem of its files, a line each.
        UsageError: config.toml, a variable or a setting is wrong.
        PluginError: a component that it names is missing, broken or ambiguous.
    """
    return plan_document(read_recipe(path, settings), registry)


def plan_document(document: Document, registry: Registry) -> Plan:
    """Check a document whose layers are merged (see `load_plan`)."""
    return Planner(document, registry).plan()
