"""The journal survives kills, and says where it is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld_cli.errors import AWorldError, MachineError
from aworld_cli.trajectory.journal import Journal, decode_line, encode_line, read_journal

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values, min_size=1))
def test_round_trip(record: dict[str, object]) -> None:
    line = encode_line(record)
    assert line.count(b"\n") == 1 and decode_line(line) == record


def write(path: Path, count: int) -> bytes:
    with Journal(path) as journal:
        for number in range(count):
            journal.append({"n": number, "text": "é\ud800" if number == 1 else "x"})
    return path.read_bytes()


def test_every_torn_tail_is_dropped_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    whole = write(path, 3)
    second = whole.index(b"\n", whole.index(b"\n") + 1) + 1
    for cut in range(second, len(whole)):
        path.write_bytes(whole[:cut])
        assert [record["n"] for record in read_journal(path)] == [0, 1]
        with Journal(path) as journal:
            journal.append({"n": 9})
        assert [record["n"] for record in read_journal(path)] == [0, 1, 9]


def test_every_flipped_byte_is_found(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    whole = write(path, 2)
    for at in range(whole.index(b"\n")):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(AWorldError, match=r"j\.jsonl:1: damaged"):
            list(read_journal(path))


def test_missing_file_holds_nothing(tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "none")) == []


def test_a_disk_that_refuses_leaves_whole_records(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="cannot be written"), Journal(Path("/dev/full")) as journal:
        journal.append({"n": 1})


def test_a_number_that_is_not_finite_becomes_null() -> None:
    record = {"a": float("nan"), "b": [float("inf"), {"c": 1.5}]}
    assert decode_line(encode_line(record)) == {"a": None, "b": [None, {"c": 1.5}]}
