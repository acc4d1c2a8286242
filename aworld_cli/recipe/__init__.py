"""Recipes: the YAML file, its strict model, and where every value stands in the file."""

from aworld_cli.recipe.secrets import NamedValue

__all__ = ["NamedValue"]
