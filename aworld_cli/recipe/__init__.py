"""Recipes: the YAML file, its strict model, and where every value stands in the file."""

from typing import TYPE_CHECKING, Any

from aworld_cli.recipe.secrets import NamedValue

if TYPE_CHECKING:
    from aworld_cli.recipe.plan import Plan

__all__ = ["NamedValue", "Plan"]


def __getattr__(name: str) -> Any:
    if name == "Plan":  # not before it is asked for: its module imports more
        from aworld_cli.recipe.plan import Plan

        return Plan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
