"""Recipes: the YAML file, its strict model, and where every value stands in the file."""
