"""Reads YAML text into plain values, and notes the line and column of every key and value.

The YAML 1.2 core schema is used, so that `no`, `on`, `010` and `2026-01-01` are what they look like. Every key is
text, a key that stands twice is a fault, and what aliases and merge keys expand to is bounded in number and length,
so that a small file can fill neither the memory nor the day.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

KeyPath = tuple[str | int, ...]
Mark = tuple[int, int]

MAX_NODES: Final = 100_000
MAX_TEXT: Final = 8_000_000
MAX_DEPTH: Final = 100
MAX_INTEGER: Final = 10**300  # a float can still hold it

_CORE: Final = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the text at a key path; `mark` is None where no line can be told."""

    path: KeyPath
    mark: Mark | None
    text: str


@dataclass(slots=True)
class Reading:
    """What a text holds.

    Args:
        value: plain values, with null in place of what is faulty.
        marks: `(line, column)` from 1 of every key path.
        faults: all of them in the order of the text.
        whole: False when the text could not be read to its end, so that `value` says nothing.
    """

    value: Any = None
    marks: dict[KeyPath, Mark] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    whole: bool = True


class _Loader(yaml.SafeLoader):
    """The YAML 1.2 core schema on PyYAML's parser."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own design)


class _TooMuchError(Exception):
    """The text is not read on: it says more than any recipe needs."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.text)
        self.fault = fault


def _integer(text: str) -> int:
    return int(text, {"0x": 16, "0o": 8}.get(text[:2], 10))


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


#: What a scalar without quotes may be: the texts, and what they mean.
_SCALARS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    "bool": (re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), lambda text: text.lower() == "true"),
    "null": (re.compile(r"^(?:~|null|Null|NULL|)$"), lambda text: None),
    "int": (re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), _integer),
    "float": (
        re.compile(
            r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
        ),
        _float,
    ),
}
_FIRST = {"bool": "tTfF", "null": "~nN", "int": "-+0123456789", "float": "-+.0123456789"}
for _tag, _first in _FIRST.items():
    _Loader.add_implicit_resolver(f"{_CORE}{_tag}", _SCALARS[_tag][0], [*_first])
_Loader.add_implicit_resolver(f"{_CORE}null", re.compile(r"^$"), [""])
_Loader.add_implicit_resolver(f"{_CORE}merge", re.compile(r"^<<$"), ["<"])


def read(text: str) -> Reading:
    """Return what a text of YAML holds; no text at all is null."""
    reading = Reading()
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is not None:
            reading.value = _Builder(reading).build(node, ())
    except _TooMuchError as error:
        _end(reading, error.fault)
    except yaml.MarkedYAMLError as error:
        _end(reading, Fault((), _mark(error.problem_mark or error.context_mark), f"not valid YAML: {_plainly(error)}"))
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        mark = (before.count("\n") + 1, error.position - before.rfind("\n"))
        code = error.character if isinstance(error.character, int) else ord(error.character)
        _end(reading, Fault((), mark, f"not valid YAML: the character U+{code:04X} may not stand in a text file"))
    except RecursionError:
        _end(reading, Fault((), _mark(loader.get_mark() if loader else None), "nested too deeply"))
    except (ValueError, OverflowError):  # PyYAML makes a character of "\UFFFFFFFF"
        at = _mark(loader.get_mark() if loader else None)
        _end(reading, Fault((), at, "not valid YAML: an escape that is no character"))
    return reading


def _end(reading: Reading, fault: Fault) -> None:
    reading.value, reading.whole = None, False
    reading.faults.append(fault)


def _mark(mark: Any) -> Mark | None:
    return None if mark is None else (mark.line + 1, mark.column + 1)


def _plainly(error: yaml.MarkedYAMLError) -> str:
    """Return what PyYAML says, in words that tell what to mend."""
    said = str(error.problem or error.context or "it cannot be read")
    if "'\\t'" in said:
        return "a tab stands where only spaces may"
    if said.startswith("but found another document"):
        return "a second document starts here; a file holds one"
    if said.startswith("found undefined alias"):
        return f"no anchor of that name stands before the alias {said.removeprefix('found undefined alias').strip()}"
    if said.startswith("expected <block end>"):
        return (
            "a key is missing before the colon"
            if said.endswith("found ':'")
            else "the line is not indented as its neighbours are"
        )
    if said.startswith("mapping values are not allowed here"):
        return f"{said} (is the line indented as its neighbours are? text with `: ` in it goes in quotes)"
    return said


class _Builder:
    """Turns YAML nodes into values while it notes their positions."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.count = 0
        self.length = 0
        self.open: set[int] = set()
        self.entries: dict[int, dict[str, tuple[yaml.Node, yaml.Node]]] = {}

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        self._counted(node, path)
        if len(path) > MAX_DEPTH:
            raise _TooMuchError(Fault(path, _mark(node.start_mark), f"nested more than {MAX_DEPTH} deep"))
        self.reading.marks.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        kind = "seq" if isinstance(node, yaml.SequenceNode) else "map"
        if node.tag != f"{_CORE}{kind}":
            return self._fault(node, path, _unused(node))
        if id(node) in self.open:
            return self._fault(node, path, "an alias that contains itself")
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self.open.discard(id(node))

    def _mapping(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, (key_node, value_node) in self._flat(node, path).items():
            self.reading.marks[(*path, key)] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            value[key] = self.build(value_node, (*path, key))
        return value

    def _flat(self, node: yaml.Node, path: KeyPath) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Return the entries of a mapping by key, those that `<<` brings among them; its own come first in rank."""
        known = self.entries.get(id(node))
        if known is not None:
            return known
        own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merged: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        merges = 0
        for key_node, value_node in node.value:
            self._counted(key_node, path)
            if key_node.tag == f"{_CORE}merge":
                merges += 1
                if merges == 2:
                    self._fault(key_node, path, "`<<` stands here twice; write one, with a list: `<<: [*a, *b]`")
                self._merge(value_node, path, merged)
                continue
            key = self._key(key_node, path)
            if key in own:
                self._fault(key_node, (*path, key), f"the key {key!r} stands here twice")
            elif key is not None:
                own[key] = (key_node, value_node)
        found = self.entries[id(node)] = {**merged, **own}
        return found

    def _merge(self, node: yaml.Node, path: KeyPath, merged: dict[str, tuple[yaml.Node, yaml.Node]]) -> None:
        """Add to `merged` what a `<<` brings; an earlier one of a list ranks before a later one."""
        for item in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            self._counted(item, path)
            if not isinstance(item, yaml.MappingNode):
                self._fault(item, path, "`<<` takes a mapping or a list of mappings")
            elif id(item) in self.open:
                self._fault(item, path, "an alias that contains itself")
            else:
                self.open.add(id(item))
                try:
                    entries = self._flat(item, path)
                finally:
                    self.open.discard(id(item))
                for key, entry in entries.items():
                    self._counted(item, path)
                    merged.setdefault(key, entry)

    def _key(self, node: yaml.Node, path: KeyPath) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._fault(node, path, "a key must be a plain word")
        elif node.tag.removeprefix(_CORE) not in ("str", *_SCALARS):
            self._fault(node, path, _unused(node))
        elif not node.value:
            self._fault(node, path, "a key is missing before the colon")
        else:
            return self._text(node, path)
        return None

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        tag, text = node.tag.removeprefix(_CORE), node.value
        self.length += len(text)
        if self.length > MAX_TEXT:
            text = f"more than {MAX_TEXT:,} characters once its aliases are expanded"
            raise _TooMuchError(Fault(path, _mark(node.start_mark), text))
        if tag in ("str", "merge"):  # `<<` as a value is text
            return self._text(node, path)
        if tag not in _SCALARS:
            return self._fault(node, path, _unused(node))
        pattern, read_text = _SCALARS[tag]
        if not pattern.fullmatch(text):  # an explicit tag, such as `!!int abc`
            return self._fault(node, path, f"what stands after !!{tag} is not of that type")
        value = read_text(text) if len(text) <= 1_000 else MAX_INTEGER
        if isinstance(value, int) and abs(value) >= MAX_INTEGER:
            return self._fault(node, path, "a number of more than 300 digits")
        if isinstance(value, float) and math.isinf(value) and "inf" not in text.lower():
            return self._fault(node, path, "a number that is too large; `.inf` is infinity")
        return value

    def _text(self, node: yaml.ScalarNode, path: KeyPath) -> str | None:
        """Return a scalar's text, with the pairs of surrogates that JSON escapes by joined; None when it is faulty."""
        text = str(node.value)
        if not any("\ud800" <= character <= "\udfff" for character in text):
            return text
        try:
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self._fault(node, path, "half of a surrogate pair, which is no character")
            return None

    def _counted(self, node: yaml.Node, path: KeyPath) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            text = f"more than {MAX_NODES:,} values once its aliases are expanded"
            raise _TooMuchError(Fault(path, _mark(node.start_mark), text))

    def _fault(self, node: yaml.Node, path: KeyPath, text: str) -> None:
        self.reading.faults.append(Fault(path, _mark(node.start_mark), text))


def _unused(node: yaml.Node) -> str:
    tag = str(node.tag)
    short = f"!!{tag.removeprefix(_CORE)}" if tag.startswith(_CORE) else tag
    return f"the tag {short} is not used in recipes"
