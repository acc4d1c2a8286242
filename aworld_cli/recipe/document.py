"""A recipe's plain values, and the place that each of them comes from: a file's line, an option, a variable."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from aworld_cli.errors import Problem, RecipeError
from aworld_cli.recipe import yaml12

KeyPath = yaml12.KeyPath
Layer = Literal["recipe", "config", "variable", "flag"]
MAX_BYTES: Final = 2**20
_NO_MAPPING: Final = "a recipe is a mapping of keys to values, starting with `aworld: 1`"


class Place(NamedTuple):
    """Where a value comes from.

    Args:
        source: a file, `--set KEY` or a variable's name.
        line: from 1; None where the source has no lines.
        column: from 1; None where the source has no lines.
        layer: what `source` is: a recipe file, the user's config.toml, a variable, or an option.
    """

    source: str
    line: int | None = None
    column: int | None = None
    layer: Layer = "recipe"

    def __str__(self) -> str:
        return ":".join(str(part) for part in self[:3] if part is not None)


@dataclass(slots=True)
class Document:
    """A recipe as it was read, or as its layers came to.

    Args:
        source: what error texts call the file.
        value: plain values; `${env:NAME}` is still a reference.
        marks: where every key path comes from.
        text: the file's text, as it was read.
        faults: what is wrong with it already, with the key paths whose values are not to be trusted.
        files: the files that it was merged from, each as it was read: its own first, then its bases.
        lock: all of the lock.json that the recipe comes from; None for a recipe.
    """

    source: str
    value: Any
    marks: dict[KeyPath, Place] = field(default_factory=dict)
    text: str = ""
    faults: list[tuple[KeyPath, Problem]] = field(default_factory=list)
    files: list[Document] = field(default_factory=list)
    lock: dict[str, Any] | None = None

    def place(self, path: KeyPath) -> Place:
        """Return where the nearest part of `path` that is known comes from."""
        for end in range(len(path), -1, -1):
            place = self.marks.get(path[:end])
            if place is not None:
                return place
        return Place(self.source)

    def where(self, path: KeyPath) -> str:
        """Return `place` as text: `file:line:column`, `--set KEY` or a variable's name."""
        return str(self.place(path))

    def problem(self, path: KeyPath, message: str) -> Problem:
        """Return what is wrong at `path`, with its place."""
        place = self.place(path)
        return Problem(message, dotted(path), place.source, place.line, place.column)

    def replaced(self, path: KeyPath, place: Place) -> None:
        """Note that what stands at `path`, and all below it, now comes from `place`."""
        self.forget(path)
        self.marks[path] = place

    def forget(self, path: KeyPath) -> None:
        """Drop what is known of `path` and all below it."""
        for other in [other for other in self.marks if other[: len(path)] == path]:
            del self.marks[other]


def read_document(path: Path) -> Document:
    """Parse the file at `path`; it is read once, so a pipe will do.

    Raises:
        RecipeError: it cannot be read or is not one YAML mapping; all that is wrong is said, with file:line:column.
    """
    return _sound(scan_document(path))


def scan_document(path: Path) -> Document:
    """Do as `read_document` does, with what is wrong among the document's `faults`; its value is a mapping."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        return _unread(path, f"cannot be read: {error.strerror or error}")
    if len(data) > MAX_BYTES:
        return _unread(path, f"larger than {MAX_BYTES // 2**10} KiB, which no recipe is")
    try:
        return _mapping(data.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        return _unread(path, f"not a UTF-8 text file (byte {error.start})", line, column)


def parse_document(text: str, source: str) -> Document:
    """Parse YAML text that holds a mapping; `source` is what error texts call the file."""
    return _sound(_mapping(text, source))


def parse_value(text: str, source: str) -> Document:
    """Parse YAML text that holds one value of any kind; no text at all is null."""
    return _sound(_read(text, source)[0])


def dotted(path: KeyPath) -> str:
    """Return a key path as people write it: `stages[0].rollout.tasks`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _sound(document: Document) -> Document:
    if document.faults:
        raise RecipeError.of(problem for _, problem in document.faults)
    return document


def _mapping(text: str, source: str) -> Document:
    document, whole = _read(text, source)
    if not isinstance(document.value, dict):
        if whole:
            document.faults.append(((), Problem(_NO_MAPPING, source=source)))
        document.value = {}
    return document


def _read(text: str, source: str) -> tuple[Document, bool]:
    reading = yaml12.read(text)
    document = Document(source, reading.value, text=text)
    document.marks = {path: Place(source, *mark) for path, mark in reading.marks.items()}
    for fault in reading.faults:
        line, column = fault.mark or (None, None)
        key = "" if not reading.whole or not fault.path else dotted(fault.path)
        path: KeyPath = fault.path if reading.whole else ()
        document.faults.append((path, Problem(fault.text, key, source, line, column)))
    return document, reading.whole


def _unread(path: Path, text: str, line: int | None = None, column: int | None = None) -> Document:
    problem = Problem(text, source=str(path), line=line, column=column)
    return Document(str(path), {}, faults=[((), problem)])
