"""Writes exported rows: JSON lines to a stream, or a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from aworld_cli.errors import MachineError, UsageError
from aworld_cli.trajectory.journal import finite

_GROUP = 512  # rows that are in memory at a time


def write_file(rows: Iterable[dict[str, Any]], path: Path, *, form: str, parquet: bool, force: bool) -> int:
    """Write rows to a file and return how many they were.

    Args:
        form: "flat" or "tokens", which decides the types of parquet columns; there are none for "chat".
        force: replace a file that is there.

    Raises:
        UsageError: there is such a file already, or it is no file: a device or a pipe would be replaced.
        MachineError: it cannot be written, or pyarrow is not installed.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UsageError(f"{path}: is no ordinary file; leave --output out, and send standard output there")
    if path.is_dir() or (path.exists() and not force):
        raise UsageError(f"{path}: is there already; choose another name, or replace it with --force")
    partial = path.with_name(f".{path.name}.new")
    try:
        count = _write_parquet(rows, partial, form) if parquet else _write_lines(rows, partial)
        partial.replace(path)
    except OSError as error:
        raise MachineError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return count


def json_line(row: dict[str, Any]) -> str:
    """Return a row as one line of JSON; what is not finite becomes null, a lone surrogate is escaped."""
    try:
        text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(finite(row), ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(finite(row), allow_nan=False)
    return text


def _write_lines(rows: Iterable[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json_line(row) + "\n")
            count += 1
    return count


def _write_parquet(rows: Iterable[dict[str, Any]], path: Path, form: str) -> int:
    pa, pq = _pyarrow()
    schema = _schema(pa, form)
    count = 0
    try:
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for group in _groups(rows):
                writer.write_table(pa.Table.from_pylist([_columns(row, form) for row in group], schema=schema))
                count += len(group)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise MachineError(f"{path.name}: a value does not fit its column: {error}") from error
    return count


def _groups(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    waiting = iter(rows)
    while group := list(islice(waiting, _GROUP)):
        yield group


def _pyarrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise MachineError("parquet needs pyarrow, which is not installed: pip install pyarrow") from error


def _columns(row: dict[str, Any], form: str) -> dict[str, Any]:
    """Return a row whose free-form values are JSON texts, as a column of one type wants them."""
    row = finite(row)
    if form == "flat":
        row = {**row, "details": None if row["details"] is None else json.dumps(row["details"])}
    return {key: _sound(value) for key, value in row.items()}


def _sound(value: Any) -> Any:
    """Return a value without lone surrogates, which UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, dict):
        return {key: _sound(item) for key, item in value.items()}
    if isinstance(value, list) and value and not isinstance(value[0], int | float):
        return [_sound(item) for item in value]
    return value


def _schema(pa: Any, form: str) -> Any:
    text, whole, real, flag = pa.string(), pa.int64(), pa.float64(), pa.bool_()
    function = pa.struct([("name", text), ("arguments", text)])
    call = pa.struct([("id", text), ("type", text), ("function", function)])
    message = [
        ("role", text),
        ("content", text),
        ("tool_calls", pa.list_(call)),
        ("tool_call_id", text),
        ("name", text),
    ]
    origin = [("run", text), ("stage", text), ("task", text), ("hash", text), ("sample", whole)]
    grade = [("reward", real), ("correct", flag)]
    if form == "tokens":
        lists = [("input_ids", pa.list_(pa.int32())), ("loss_mask", pa.list_(pa.int8())), ("logprobs", pa.list_(real))]
        return pa.schema([*lists, ("prompt_length", whole), *origin, ("sequence", whole), *grade])
    from aworld_cli.trajectory.export import FLAT_COLUMNS

    kinds = {"messages": pa.list_(pa.struct(message)), "rescored": flag, "correct": flag}
    kinds |= dict.fromkeys(("reward", "seconds", "model_seconds", "tool_seconds"), real)
    numbers = ("sample", "seed", "attempts", "turns", "prompt_tokens", "completion_tokens", "tool_calls", "tool_errors")
    kinds |= dict.fromkeys(numbers, whole)
    return pa.schema([(name, kinds.get(name, text)) for name in FLAT_COLUMNS])
