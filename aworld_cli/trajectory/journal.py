"""The append-only file of records: one line an episode, flushed when it ends, with a checksum.

A kill at any instant loses at most the line being written: a torn last line is cut off when the journal is opened
again; a line that is damaged in the middle is reported with its number and never silently skipped.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from aworld_cli.errors import MachineError

_TAIL = len(b',"crc32":"00000000"}')


def encode_line(record: dict[str, Any]) -> bytes:
    """Return the record as one JSON line that ends with its own CRC-32."""
    body = _dump(record).encode("utf-8", "surrogatepass")
    return body[:-1] + b',"crc32":"%08x"}\n' % zlib.crc32(body)


def _dump(record: dict[str, Any]) -> str:
    try:
        return json.dumps(record, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinity: they become null
        return json.dumps(finite(record), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def finite(value: Any) -> Any:
    """Return a JSON value with None in place of each number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def line_body(line: bytes) -> bytes:
    """Return the JSON text in a line of `encode_line`, without its checksum.

    Raises:
        ValueError: the line is not whole.
    """
    line = line.rstrip(b"\n")
    body = line[:-_TAIL] + b"}"
    if line[-_TAIL:] != b',"crc32":"%08x"}' % zlib.crc32(body):
        raise ValueError("the checksum does not match")
    return body


def decode_line(line: bytes) -> dict[str, Any]:
    """Return the record in a line of `encode_line`, without its checksum.

    Raises:
        ValueError: the line is not whole.
    """
    record: dict[str, Any] = json.loads(line_body(line))
    return record


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records in order; a torn last line is left out.

    Raises:
        MachineError: it cannot be read, or a line before the last is damaged; the text holds its number.
    """
    if not path.exists():
        return
    try:
        opened = path.open("rb")
    except OSError as error:
        raise MachineError(f"{path}: cannot be read: {error.strerror}") from error
    with opened as file:
        damaged: int | None = None
        for number, line in enumerate(file, 1):
            if damaged is not None:
                raise MachineError(f"{path}:{damaged}: damaged record; restore the file, or delete that line")
            if not line.endswith(b"\n"):
                return  # torn: whoever writes next cuts it off, whole or not
            try:
                yield decode_line(line)
            except ValueError:
                damaged = number
        if damaged is not None:
            raise MachineError(f"{path}:{damaged}: damaged record; restore the file, or delete that line")


class Journal:
    """Writes records; a context manager. One writer at a time (the run directory's lock sees to it)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> Journal:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("r+b" if self.path.exists() else "w+b", buffering=0)
        except OSError as error:
            raise MachineError(f"{self.path}: cannot be written: {error.strerror}") from error
        self._cut_torn_tail(self._file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, record: dict[str, Any]) -> None:
        """Write one record; when it returns the record survives the death of this process.

        Raises:
            MachineError: the disk refuses; the file is cut back to its last whole record.
        """
        assert self._file is not None, "the journal is not open"
        line = encode_line(record)
        start = self._file.seek(0, os.SEEK_END)
        try:
            written = self._file.write(line)
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(start)
            raise MachineError(f"{self.path}: cannot be written: {error.strerror}") from error

    @staticmethod
    def _cut_torn_tail(file: BinaryIO) -> None:
        size = file.seek(0, os.SEEK_END)
        keep = size
        while keep > 0:
            start = max(0, keep - 65_536)
            file.seek(start)
            block = file.read(keep - start)
            cut = block.rfind(b"\n")
            if cut >= 0:
                keep = start + cut + 1
                break
            keep = start
        if keep < size:
            file.truncate(keep)
