"""Runs: one execution of a recipe, and its directory."""
