"""Which keys are set, by name alone: no value is ever read into a text."""

from __future__ import annotations

import os

from aworld_cli.doctor.base import Finding

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN")


def keys() -> Finding:
    """The keys of common services."""
    given = [name for name in KEYS if os.environ.get(name, "").strip()]
    absent = [name for name in KEYS if name not in given]
    shown = [f"{', '.join(names)} {state}" for names, state in ((given, "set"), (absent, "not set")) if names]
    if given:
        return Finding("ok", "; ".join(shown))
    return Finding("missing", "; ".join(shown), "export the key of the service that a recipe uses")


def variable(name: str, *, has_default: bool) -> Finding:
    """A variable that the recipe takes a value from."""
    if name in os.environ:
        if os.environ[name].strip():
            return Finding("ok", "set")
        return Finding("warning", "set, but empty", f"export {name}=...")
    if has_default:
        return Finding("ok", "not set; the recipe has a default")
    return Finding("error", "not set", f"export {name}=..., or write ${{env:{name}:-default}} in the recipe")
