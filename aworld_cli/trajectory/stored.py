"""Reads a stage's episodes back: the last record of each, in the journal's order, one in memory at a time.

New grades of `aworld runs rescore` are laid over the journal's own while reading. What is kept meanwhile is the
identities alone, some hundred bytes an episode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aworld_cli.errors import MachineError, UsageError
from aworld_cli.trajectory.journal import line_body, read_journal
from aworld_cli.trajectory.record import SCHEMA_VERSION

_IDENTITY = re.compile(
    rb'\{"schema_version":\d+,"episode":(\{"task":"(?:[^"\\]|\\.)*","hash":"[^"\\]*","sample":\d+\}),', re.DOTALL
)
SETTLED = ("answered", "limit")


def identity(record: dict[str, Any]) -> tuple[str, str, int]:
    """Return what makes the record's episode itself: task id, hash of the task's data, sample."""
    episode = record["episode"]
    return episode["task"], episode["hash"], episode["sample"]


class StoredEpisodes:
    """The episodes of one journal; iterate as often as need be.

    Args:
        journal: the file; one that is not there holds none.
        grades: a file of new grades, which take the place of the journal's.
        tolerant: pass over damaged lines and list them in `damaged`, instead of failing.

    After an iteration `damaged` holds the numbers of damaged lines, and `torn` tells of a last line that a kill cut.
    """

    def __init__(self, journal: Path, *, grades: Path | None = None, tolerant: bool = False) -> None:
        self.journal = journal
        self.grades = grades
        self.tolerant = tolerant
        self.damaged: list[int] = []
        self.torn = False

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield records.

        Raises:
            MachineError: the file cannot be read, or a line is damaged (unless `tolerant`).
            UsageError: a newer aworld wrote a record, or it is none.
        """
        superseded = self._superseded()
        grades = _Grades(self.grades)
        for number, body in self._bodies():
            if number in superseded:
                continue
            record = self._record(number, body)
            grades.lay_over(record)
            yield record
        grades.finish()

    def _bodies(self) -> Iterator[tuple[int, bytes]]:
        """Yield the number and the JSON text of each whole line."""
        self.damaged, self.torn = [], False
        try:
            opened = self.journal.open("rb")
        except FileNotFoundError:
            return
        except OSError as error:
            raise MachineError(f"{self.journal}: cannot be read: {error.strerror}") from error
        with opened as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    self.torn = True
                    return
                try:
                    yield number, line_body(line)
                except ValueError as error:
                    self.damaged.append(number)
                    if not self.tolerant:
                        text = f"{self.journal}:{number}: damaged record; restore the file, or delete that line"
                        raise MachineError(text) from error

    def _superseded(self) -> set[int]:
        """Return the numbers of the lines whose episode has a later record."""
        last: dict[bytes, int] = {}
        found: set[int] = set()
        for number, body in self._bodies():
            key = self._key(number, body)
            if key in last:
                found.add(last[key])
            last[key] = number
        return found

    def _key(self, number: int, body: bytes) -> bytes:
        match = _IDENTITY.match(body)
        return match[1] if match else json.dumps(self._record(number, body)["episode"]).encode()

    def _record(self, number: int, body: bytes) -> dict[str, Any]:
        record = json.loads(body)
        version = record.get("schema_version")
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise UsageError(
                f"{self.journal}:{number}: a newer aworld wrote this record (schema_version {version}, "
                f"this one reads {SCHEMA_VERSION}); upgrade aworld"
            )
        if version != SCHEMA_VERSION or not isinstance(record.get("episode"), dict) or "outcome" not in record:
            raise UsageError(f"{self.journal}:{number}: not the record of an episode")
        return dict(record)


class _Grades:
    """New grades, which stand in the order of the settled records that they belong to."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lines = iter(()) if path is None else self._read(path)
        self._next = next(self._lines, None)

    @staticmethod
    def _read(path: Path) -> Iterator[dict[str, Any]]:
        if not path.is_file():
            raise UsageError(f"{path}: the new grades are not there; see the run's own with --original")
        yield from read_journal(path)

    def lay_over(self, record: dict[str, Any]) -> None:
        if self._next is not None and identity(self._next) == identity(record):
            record["grade"] = self._next["new"]
            record["rescored"] = True
            self._next = next(self._lines, None)

    def finish(self) -> None:
        if self._next is not None:
            raise UsageError(f"{self._path}: does not fit the journal beside it; see the run's own with --original")
