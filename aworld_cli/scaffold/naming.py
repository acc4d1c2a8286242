"""The names of a new plugin, all derived from one, and refused where they would clash with what there is."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aworld_cli.errors import UsageError
from aworld_cli.host.component import Kind

PREFIX: Final = "aworld-"
LONGEST: Final = 40

#: Names of AWorld's own distributions, whether or not they are installed.
OWN: Final = frozenset(
    {
        "arithmetic",
        "browser",
        "cli",
        "gaia",
        "local",
        "openai",
        "ray",
        "sglang",
        "toolbox",
        "verl",
    }
)
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Names:
    """What a new plugin's parts are called: `word-count` gives `aworld-word-count`, `aworld_word_count`, `word_count`.

    Args:
        kind: of its component.
        name: of its component and its entry point.
    """

    kind: Kind
    name: str

    @property
    def distribution(self) -> str:
        """What pip calls it, and its directory."""
        return PREFIX + self.name

    @property
    def package(self) -> str:
        """What Python imports."""
        return self.distribution.replace("-", "_")

    @property
    def identifier(self) -> str:
        """What a model calls its tool."""
        return self.name.replace("-", "_")


def name_plugin(kind: Kind, given: str, components: Iterable[tuple[str, str, str]] = ()) -> Names:
    """Return the names of a new plugin.

    Args:
        given: its name, with `aworld-` before it or without.
        components: kind, name and distribution of what is installed.

    Raises:
        UsageError: it is no name, or something else has it.
    """
    name = given.removeprefix(PREFIX)
    if not _NAME.fullmatch(name) or name == "aworld":
        raise UsageError(_no_name(given))
    if len(name) > LONGEST:
        raise UsageError(f"the name {given!r} is too long: at most {LONGEST} characters")
    names = Names(kind, name)
    if name in OWN:
        raise UsageError(f"{names.distribution} is a distribution of AWorld itself; choose another name")
    try:
        there = importlib.metadata.distribution(names.distribution)
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        text = f"{names.distribution} {there.version} is installed already ({there.locate_file('')})"
        raise UsageError(f"{text}; choose another name, or uninstall it first")
    for other_kind, other, distribution in components:
        if (other_kind, other) == (kind, name):
            text = f"there is a {kind} {name!r} already, of {distribution}: recipes could not tell the two apart"
            raise UsageError(f"{text} by that name; choose another")
    return names


def _no_name(given: str) -> str:
    rule = "lower-case letters, digits and single hyphens, a letter first"
    mended = re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-").removeprefix(PREFIX).lstrip("0123456789-")
    usable = _NAME.fullmatch(mended) and mended not in OWN and mended != "aworld" and len(mended) <= LONGEST
    near = f"; did you mean {mended!r}?" if usable else ""
    return f"{given!r} is no name for a plugin ({rule}){near}"
