"""Plain tables for a terminal, without rich: importing it costs more than all else that `aworld plugins` does."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence

_GAP = "  "
_NARROWEST = 12


def width() -> int:
    """Return how wide lines may be: the terminal's width, COLUMNS where it is set, else 120 off a terminal."""
    told = os.environ.get("COLUMNS") or (sys.stdout is not None and sys.stdout.isatty())
    return max(shutil.get_terminal_size((120, 24)).columns, 40) if told else 120


def clean(text: str) -> str:
    """Return a plugin's text as one line without control characters."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, wide: int | None = None) -> Iterator[str]:
    """Yield the lines of a table; cells that are too long are folded, columns that are empty left out."""
    cells = [[clean(cell) for cell in row] for row in rows]
    used = [index for index in range(len(heads)) if any(row[index] for row in cells)]
    lines = [[heads[index] for index in used], *([row[index] for index in used] for row in cells)]
    widths = _fit([max(len(line[index]) for line in lines) for index in range(len(used))], wide or width())
    lines.insert(1, ["-" * size for size in widths])
    for line in lines:
        folded = [fold(cell, size) for cell, size in zip(line, widths, strict=True)]
        for index in range(max(map(len, folded), default=0)):
            parts = [(part[index] if index < len(part) else "") for part in folded]
            yield _GAP.join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip()


def fold(text: str, size: int) -> list[str]:
    """Return a text as lines of at most `size` characters; at least one."""
    return textwrap.wrap(text, size, break_on_hyphens=False) or [""]


def _fit(widths: list[int], wide: int) -> list[int]:
    """Take from the widest column until all fit."""
    room = wide - len(_GAP) * (len(widths) - 1)
    while widths and sum(widths) > room and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths
