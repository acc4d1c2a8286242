"""The `AWORLD_*` variables that the core reads; one that looks like a slip of the pen is told, never left unsaid.

Plugins may read variables of their own, so a name that is like none of ours is let be.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

PREFIX: Final = "AWORLD_"
#: What stands after it is a key path of the recipe: `AWORLD_RECIPE__RUNTIME__CONCURRENCY=16`.
RECIPE_PREFIX: Final = "AWORLD_RECIPE__"

#: Variable, and what it is for.
KNOWN: Final[dict[str, str]] = {
    "AWORLD_RUNS_DIR": "Where run directories are made.",
    "AWORLD_MAX_ERRORS": "Episode errors that still count as success.",
    "AWORLD_GRACE": "Seconds that episodes in flight have to end when a run is asked to stop.",
    "AWORLD_DISABLE_PLUGINS": "Plugins that are not loaded, separated by commas.",
    "AWORLD_STRICT_PLUGINS": "1 stops at the first plugin that does not load, for plugin authors and CI.",
    "AWORLD_HOME": "The folder of config.toml and the cache, in place of the platform's.",
    "AWORLD_CACHE_DIR": "The folder of fetched models.",
    f"{RECIPE_PREFIX}KEY__PATH": "A value of the recipe, in YAML; `--set` goes before it.",
}


def misspelt(names: Iterable[str]) -> list[str]:
    """Return a text for each variable that is probably meant to be one of ours."""
    found: list[str] = []
    for name in sorted(names):
        upper = name.upper()
        if not upper.startswith(PREFIX) or upper in KNOWN or upper.startswith(RECIPE_PREFIX):
            continue
        if upper.startswith("AWORLD_RECIPE_"):
            meant = RECIPE_PREFIX + name[len("AWORLD_RECIPE_") :]
            found.append(f"the variable {name} is not read; did you mean {meant}?")
            continue
        from difflib import get_close_matches

        own = [known.removeprefix(PREFIX) for known in KNOWN if not known.startswith(RECIPE_PREFIX)]
        near = get_close_matches(upper.removeprefix(PREFIX), own, n=1, cutoff=0.82)
        if near:
            found.append(f"the variable {name} is not read; did you mean {PREFIX}{near[0]}?")
    return found
