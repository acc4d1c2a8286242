"""YAML as a careful user reads it: what values are, where faults stand, and that no small file is a bomb."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.errors import RecipeError
from aworld_cli.recipe.document import MAX_BYTES, parse_document, parse_value, read_document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # words that YAML 1.1 takes for booleans
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("N", "N"),
        ("true", True),
        ("False", False),
        ("TRUE", True),
        ("tRue", "tRue"),
        # nothing
        ("~", None),
        ("null", None),
        ("Null", None),
        ("", None),
        ("nULL", "nULL"),
        ("none", "none"),
        # whole numbers
        ("0", 0),
        ("-0", 0),
        ("+1", 1),
        ("-17", -17),
        ("010", 10),
        ("08", 8),
        ("0o10", 8),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("-0x1F", "-0x1F"),
        ("1_000", "1_000"),
        ("1,000", "1,000"),
        ("12:30:45", "12:30:45"),
        ("190:20:30", "190:20:30"),
        ("1" * 300, int("1" * 300)),
        # other numbers
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("1e-4", 0.0001),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5", -0.5),
        ("1.10", 1.1),
        ("3.0e-3", 0.003),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
        (".", "."),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", "inf"),
        ("nan", "nan"),
        # dates and times
        ("2026-01-01", "2026-01-01"),
        ("2026-01-01T10:00:00Z", "2026-01-01T10:00:00Z"),
        # signs
        ("=", "="),
        ("<<", "<<"),
        ("a=b", "a=b"),
        ("a#b", "a#b"),
        ("a #b", "a"),
        ("http://a:1/b", "http://a:1/b"),
        ("-", [None]),
        # quotes, blocks, tags
        ("'no'", "no"),
        ("'1'", "1"),
        ('"a\\tb"', "a\tb"),
        ("'it''s'", "it's"),
        ("|\n  a\n   b\n", "a\n b\n"),
        (">-\n  a\n  b\n", "a b"),
        ("!!str 1", "1"),
        ("!!str no", "no"),
        ("!!int '7'", 7),
        ("!!float 1", 1.0),
        ("!!null ''", None),
        ("[1, [2], {a: 3}]", [1, [2], {"a": 3}]),
        ("[a, ]", ["a"]),
    ],
)
def test_what_a_value_is(text: str, value: object) -> None:
    found = parse_value(text, "x").value
    assert found == value and type(found) is type(value)


def test_escapes_of_json_are_one_character() -> None:
    assert parse_document(r'{"\ud83d\ude00": "a\ud83d\ude00"}', "x").value == {"\U0001f600": "a\U0001f600"}


def test_not_a_number_is_a_number() -> None:
    assert math.isnan(parse_value(".nan", "x").value)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        *(("1: x", "1"), ("1.5: x", "1.5"), ("true: x", "true"), ("no: x", "no"), ("null: x", "null"), ("~: x", "~")),
        *(("2026-01-01: x", "2026-01-01"), ("'a b': x", "a b"), ("? a\n: x", "a"), ("=: x", "="), ("'<<': x", "<<")),
    ],
)
def test_every_key_is_text(text: str, key: str) -> None:
    assert parse_document(text, "x").value == {key: "x"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3", "x:3:1: a: the key 'a' stands here twice"),
        ("1: a\n'1': b", "x:2:1: 1: the key '1' stands here twice"),
        ("a: {b: 1, c: 2, b: 3}", "x:1:17: a.b: the key 'b' stands here twice"),
        ("a: &a {b: 1, b: 2}\nc: {<<: *a}", "x:1:14: a.b: the key 'b' stands here twice"),
        ("a: &a {b: 1}\nc: {<<: *a, <<: *a}", "x:2:13: c: `<<` stands here twice"),
        ("a: {<<: 3}", "x:1:9: a: `<<` takes a mapping or a list of mappings"),
        ("a: {<<: [{b: 1}, 3]}", "x:1:18: a: `<<` takes a mapping or a list of mappings"),
        ("? [a]\n: 1", "x:1:3: a key must be a plain word"),
        ("? {a: 1}\n: 1", "x:1:3: a key must be a plain word"),
        ("'': 1", "x:1:1: a key is missing before the colon"),
        (": 1", "x:1:1: not valid YAML: a key is missing before the colon"),
        ("!x a: 1", "x:1:1: the tag !x is not used in recipes"),
        ("a: !x b", "x:1:4: a: the tag !x is not used in recipes"),
        ("a: !x {b: 1}", "x:1:4: a: the tag !x is not used in recipes"),
        ("a: !x [b]", "x:1:4: a: the tag !x is not used in recipes"),
        ("a: !!set {b}", "x:1:4: a: the tag !!set is not used in recipes"),
        ("a: !!binary aGk=", "x:1:4: a: the tag !!binary is not used in recipes"),
        ("a: !!timestamp 2026-01-01", "x:1:4: a: the tag !!timestamp is not used in recipes"),
        ("a: !!python/object/apply:os.system [ls]", "x:1:4: a: the tag !!python/object/apply:os.system is not used"),
        ("a: !!int x", "x:1:4: a: what stands after !!int is not of that type"),
        ("a: 1e999", "x:1:4: a: a number that is too large"),
        ("a: " + "9" * 301, "x:1:4: a: a number of more than 300 digits"),
        ("a: " + "9" * 50_000, "x:1:4: a: a number of more than 300 digits"),
        ("a: 1\n---\nb: 2", "x:2:1: not valid YAML: a second document starts here; a file holds one"),
        ("a: 1\n...\nb: 2", "x:3:1: not valid YAML:"),
        ("a: *b", "x:1:4: not valid YAML: no anchor of that name stands before the alias 'b'"),
        ("a: &a [1, *a]", "x:1:4: a[1]: an alias that contains itself"),
        ("a: &a {b: {c: *a}}", "x:1:4: a.b.c: an alias that contains itself"),
        ("a: &a {<<: *a}", "x:1:4: a: an alias that contains itself"),
        ("a: &a {b: 1, <<: [{<<: *a}]}", "x:1:4: a: an alias that contains itself"),
        ("a:\n\tb: 1", "x:2:1: not valid YAML: a tab stands where only spaces may"),
        ("a: 1\n b: 2", "x:2:3: not valid YAML: mapping values are not allowed here"),
        ("a: b: c", "x:1:5: not valid YAML: mapping values are not allowed here"),
        ("a:\n  - 1\n b: 2", "x:3:2: not valid YAML: the line is not indented as its neighbours are"),
        ("a: [1", "x:1:6: not valid YAML: expected ',' or ']'"),
        ("a: 'x", "x:1:6: not valid YAML: found unexpected end of stream"),
        ("a: b\nc: \x00", "x:2:4: not valid YAML: the character U+0000 may not stand in a text file"),
        ("a: b\r\nc: \x1b[0m", "x:2:4: not valid YAML: the character U+001B may not stand in a text file"),
        ('a: "\\ud800"', "x:1:4: a: half of a surrogate pair"),
        ('"\\ud800": a', "x:1:1: half of a surrogate pair"),
        ("", "x: a recipe is a mapping of keys to values, starting with `aworld: 1`"),
        ("# nothing\n", "x: a recipe is a mapping"),
        ("- a: 1", "x: a recipe is a mapping"),
        ("aworld", "x: a recipe is a mapping"),
        ("null", "x: a recipe is a mapping"),
        ("[" * 20_000, "nested too deeply"),
        ("a: " + "{a: " * 150 + "1" + "}" * 150, "nested more than 100 deep"),
        ("%YAML 2.0\n---\na: 1", "x:1:1: not valid YAML: found incompatible YAML document"),
    ],
)
def test_a_fault_has_its_place(text: str, expected: str) -> None:
    with pytest.raises(RecipeError) as caught:
        parse_document(text, "x")
    assert expected in str(caught.value)


def test_all_faults_at_once() -> None:
    with pytest.raises(RecipeError) as caught:
        parse_document("a: 1\na: 2\nb: !x y\nc: {d: 1, d: 2}", "x")
    assert [(problem.key, problem.line) for problem in caught.value.problems] == [("a", 2), ("b", 3), ("c.d", 4)]


def test_byte_order_mark_and_line_ends_do_not_matter() -> None:
    document = parse_document("\ufeffa: 1\r\nb:\r\n  - c\r\n", "x")
    assert document.value == {"a": 1, "b": ["c"]}
    assert [document.where(path) for path in (("a",), ("b",), ("b", 0))] == ["x:1:1", "x:2:1", "x:3:5"]


MERGE = """\
low: &low {x: 1, y: 1, z: {deep: 1}}
high: &high
  y: 2
one: {<<: *low, x: 9}
late:
  x: 9
  <<: *low
list:
  <<: [*high, *low]
  z: {own: 1}
nested: {<<: {<<: *low, x: 7}}
"""


def test_merge_keys() -> None:
    document = parse_document(MERGE, "x")
    value: Any = document.value
    assert value["one"] == value["late"] == {"x": 9, "y": 1, "z": {"deep": 1}}
    assert value["list"] == {"x": 1, "y": 2, "z": {"own": 1}}  # the first of the list wins; nothing is merged below
    assert value["nested"] == {"x": 7, "y": 1, "z": {"deep": 1}}


def test_a_merged_value_stands_where_its_anchor_does() -> None:
    document = parse_document(MERGE, "x")
    assert document.where(("one", "x")) == "x:4:17" and document.where(("late", "x")) == "x:6:3"
    assert document.where(("late", "y")) == "x:1:18"
    assert document.where(("late", "z", "deep")) == "x:1:28"
    assert document.where(("list", "y")) == "x:3:3" and document.where(("list", "x")) == "x:1:12"
    assert document.where(("list", "z", "own")) == "x:10:7" and document.where(("nested", "x")) == "x:11:25"


def test_a_value_that_an_alias_repeats_is_each_time_its_own() -> None:
    value: Any = parse_document("a: &a {x: [1]}\nb: *a", "x").value
    value["b"]["x"].append(2)
    assert value["a"] == {"x": [1]}


def bomb(kind: str) -> str:
    lines = []
    if kind == "lists":
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    elif kind == "mappings":
        lines = ["a0: &a0 {a: x, b: x}"] + [f"a{n}: &a{n} {{a: *a{n - 1}, b: *a{n - 1}}}" for n in range(1, 60)]
    elif kind == "merges":
        lines = ["a0: &a0 {a: x}"]
        lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}], k{n}: 1}}" for n in range(1, 200)]
    elif kind == "merge list":
        keys = ", ".join(f"k{n}: 1" for n in range(3_000))
        lines = [f"a: &a {{{keys}}}", "e: &e {}", f"b: {{<<: [*a, {', '.join(['*e'] * 15_000)}]}}"]
    elif kind == "merges of all":
        keys = ", ".join(f"k{n}: 1" for n in range(3_000))
        lines = [f"a: &a {{{keys}}}", f"b: [{', '.join(['{<<: *a}'] * 6_000)}]"]
    elif kind == "text":
        lines = [f"a: &a {'x' * 60_000}", f"b: [{', '.join(['*a'] * 9_000)}]"]
    elif kind == "anchors":
        lines = [f"a{n}: &a{n} x" for n in range(6_000)]
    elif kind == "flow":
        lines = ["a: " + "[" * 40_000 + "]" * 40_000]
    elif kind == "keys":
        lines = ["? " * 40_000]
    return "\n".join(lines)


KINDS = ("lists", "mappings", "merges", "merge list", "merges of all", "text", "anchors", "flow", "keys")
READ = """\
import resource, sys, time
resource.setrlimit(resource.RLIMIT_AS, (400 * 2**20, 400 * 2**20))
from pathlib import Path
from aworld_cli.errors import RecipeError
from aworld_cli.recipe.document import read_document
start = time.process_time()
try:
    read_document(Path(sys.argv[1]))
    said = "read"
except RecipeError as error:
    said = str(error).splitlines()[0]
seconds = time.process_time() - start
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]  # this program's own
print(said.removeprefix(sys.argv[1]), peak, seconds, sep="|")
"""


@pytest.mark.parametrize("kind", KINDS)
def test_100_kb_cannot_blow_up(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    path.write_text(bomb(kind))
    assert path.stat().st_size < 110_000
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    said, peak, seconds = done.stdout.strip().split("|")
    if kind in ("anchors", "merge list"):
        assert said == "read"
    else:
        assert any(text in said for text in ("once its aliases are expanded", "nested too deeply", "not valid YAML"))
    assert int(peak) < 250_000 and float(seconds) < 10  # KiB; CPU seconds, on a slow machine


def test_a_large_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(RecipeError, match="larger than 1024 KiB"):
        read_document(path)
    with pytest.raises(RecipeError, match="larger than 1024 KiB"):
        read_document(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b"a: b\nc: \xff", ":2:4: not a UTF-8 text file (byte 8)"), ("a: b".encode("utf-16"), ":1:1: not a UTF-8 text")],
)
def test_a_file_that_is_no_text(data: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(data)
    with pytest.raises(RecipeError) as caught:
        read_document(path)
    assert str(caught.value).startswith(f"{path}{expected}")


def test_no_file_and_a_directory(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"nope\.yaml: cannot be read: No such file"):
        read_document(tmp_path / "nope.yaml")
    with pytest.raises(RecipeError, match="cannot be read: Is a directory"):
        read_document(tmp_path)
