"""Reads the user's `config.toml`, and notes the line of every key."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aworld_cli.errors import UsageError
from aworld_cli.settings.places import config_file

_Path = tuple[str | int, ...]


@dataclass(slots=True)
class UserConfig:
    """What the file says.

    Args:
        path: the file; None when there is none.
        values: its keys and tables.
        marks: `(line, column)` from 1 of every key path.
    """

    path: Path | None
    values: dict[str, Any] = field(default_factory=dict)
    marks: dict[_Path, tuple[int, int]] = field(default_factory=dict)

    def where(self, path: _Path) -> str:
        """Return `file:line:column` of the nearest part of a key path."""
        mark = self.mark(path)
        return str(self.path) if mark is None else f"{self.path}:{mark[0]}:{mark[1]}"

    def mark(self, path: _Path) -> tuple[int, int] | None:
        """Return the line and the column of the nearest part of a key path."""
        known = (self.marks.get(path[:end]) for end in range(len(path), 0, -1))
        return next((mark for mark in known if mark is not None), None)


def read_user_config() -> UserConfig:
    """Return what the user's file says; nothing when there is none.

    Raises:
        UsageError: it cannot be read, or is not TOML.
    """
    path = config_file()
    if path is None:
        return UserConfig(None)
    try:
        text = path.read_text(encoding="utf-8-sig")
        return UserConfig(path, tomllib.loads(text), _marks(text))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise UsageError(f"{path}: nested too deeply") from error


def _marks(text: str) -> dict[_Path, tuple[int, int]]:
    """Return where the keys of valid TOML stand.

    TOML is lines: a header, or a statement of one line or more, each of which is valid alone.
    """
    marks: dict[_Path, tuple[int, int]] = {}
    arrays: dict[_Path, int] = {}
    table: _Path = ()
    pending, first = "", 0
    for number, line in enumerate(text.split("\n"), start=1):
        first = first if pending else number
        pending += line + "\n"
        try:
            found = tomllib.loads(pending)
        except ValueError:
            continue  # the statement goes on
        start = pending.lstrip()
        mark = (first, len(pending.split("\n", 1)[0]) - len(pending.split("\n", 1)[0].lstrip()) + 1)
        pending = ""
        if start.startswith("["):
            table = _header(found, arrays, many=start.startswith("[["))
            marks.setdefault(table, mark)
        else:
            _note(found, table, mark, marks)
    return marks


def _header(found: Any, arrays: dict[_Path, int], *, many: bool) -> _Path:
    path: _Path = ()
    while isinstance(found, dict) and found:
        key, found = next(iter(found.items()))
        path = (*path, key)
        if path in arrays and (isinstance(found, dict) and found):
            path = (*path, arrays[path])
    if many:
        arrays[path] = arrays.get(path, -1) + 1
        return (*path, arrays[path])
    return path


def _note(value: Any, path: _Path, mark: tuple[int, int], marks: dict[_Path, tuple[int, int]]) -> None:
    if path:
        marks.setdefault(path, mark)
    if isinstance(value, dict):
        for key, item in value.items():
            _note(item, (*path, key), mark, marks)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _note(item, (*path, index), mark, marks)
