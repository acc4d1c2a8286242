"""Reads YAML into plain values and remembers the line and column of every key and value.

The YAML 1.2 core schema is used, so that `no`, `on`, `010` and `2026-01-01` are what they look like; duplicate
keys are errors; what aliases expand to is bounded, so that a small file cannot fill the memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from aworld_cli.errors import RecipeError

KeyPath = tuple[str | int, ...]
MAX_NODES = 100_000
MAX_DEPTH = 100
MAX_INTEGER = 10**300  # a float can still hold it


@dataclass(slots=True)
class Document:
    """A parsed file.

    Args:
        source: what error texts call it.
        value: plain values; `${env:NAME}` is still a reference.
        marks: `(line, column)` from 1 of every key path that the file holds.
        text: the file's text, as it was read.
        origins: where a value came from that was not in the file (`--set KEY`).
        original: the values before they were changed; None when they were not.
    """

    source: str
    value: Any
    marks: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    text: str = ""
    origins: dict[KeyPath, str] = field(default_factory=dict)
    original: Any = None

    def where(self, path: KeyPath) -> str:
        """Return `file:line:column` or the origin of the nearest part of `path` that is known."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.origins:
                return self.origins[path[:end]]
            mark = self.marks.get(path[:end])
            if mark is not None:
                return f"{self.source}:{mark[0]}:{mark[1]}"
        return self.source

    def replaced(self, path: KeyPath, origin: str) -> None:
        """Note that what stands at `path`, and all below it, now comes from `origin`."""
        for known in (self.marks, self.origins):
            for other in [other for other in known if other[: len(path)] == path]:
                del known[other]
        self.origins[path] = origin


class _Loader(yaml.SafeLoader):
    """The YAML 1.2 core schema on PyYAML's parser."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own design)


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
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", _SCALARS[_tag][0], [*_first])
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^$"), [""])
_Loader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"^<<$"), ["<"])


def read_document(path: Path) -> Document:
    """Parse the file at `path`; it is read once, so a pipe will do.

    Raises:
        RecipeError: it cannot be read or is not one YAML mapping; the text holds file:line:column.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not a UTF-8 text file (byte {error.start})") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse_document(text, str(path))


def parse_document(text: str, source: str) -> Document:
    """Parse YAML text that holds a mapping; `source` is what error texts call the file."""
    document = parse_value(text, source)
    if not isinstance(document.value, dict):
        raise RecipeError(f"{source}: a recipe is a mapping of keys to values, starting with `aworld: 1`")
    return document


def parse_value(text: str, source: str) -> Document:
    """Parse YAML text that holds one value of any kind; no text at all is null."""
    document = Document(source, None, text=text)
    try:
        node = yaml.compose(text, Loader=_Loader)
        if node is not None:
            document.value = _Builder(document).build(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise RecipeError(f"{where}: not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # PyYAML lets "\UFFFFFFFF" overflow
        raise RecipeError(f"{source}: not valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise RecipeError(f"{source}: nested too deeply") from error
    return document


class _Builder:
    """Turns YAML nodes into values while it notes their positions."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.count = 0
        self.open: set[int] = set()

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        self.count += 1
        if self.count > MAX_NODES:
            raise self._error(node, f"more than {MAX_NODES:,} values once its aliases are expanded")
        if len(path) > MAX_DEPTH:
            raise self._error(node, f"nested more than {MAX_DEPTH} deep")
        self.document.marks.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self.open:
            raise self._error(node, "an alias that contains itself")
        self.open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
            assert isinstance(node, yaml.MappingNode)
            return self._mapping(node, path)
        finally:
            self.open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        value: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged = {**self._merge(value_node, path), **merged}
                continue
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode) or not isinstance(key, str):
                raise self._error(key_node, "a key must be a plain word")
            self._check_text(key_node)
            if key in value:
                raise self._error(key_node, f"the key {key!r} stands here twice")
            mark = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            self.document.marks[(*path, key)] = mark
            value[key] = self.build(value_node, (*path, key))
        return {**merged, **value}

    def _merge(self, node: yaml.Node, path: KeyPath) -> dict[str, Any]:
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for item in nodes:
            if not isinstance(item, yaml.MappingNode):
                raise self._error(item, "`<<` takes a mapping or a list of mappings")
            merged = {**self.build(item, path), **merged}
        return merged

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        tag, text = node.tag.removeprefix("tag:yaml.org,2002:"), node.value
        if tag == "str":
            self._check_text(node)
            return text
        if tag not in _SCALARS:
            raise self._error(node, f"the tag {node.tag!r} is not used in recipes")
        pattern, read = _SCALARS[tag]
        if not pattern.fullmatch(text):  # an explicit tag, such as `!!int abc`
            raise self._error(node, f"what stands after !!{tag} is not of that type")
        value = read(text) if len(text) <= 1_000 else MAX_INTEGER
        if isinstance(value, int) and abs(value) >= MAX_INTEGER:
            raise self._error(node, "a number of more than 300 digits")
        return value

    def _check_text(self, node: yaml.ScalarNode) -> None:
        if any("\ud800" <= character <= "\udfff" for character in node.value):
            raise self._error(node, "half of a surrogate pair, which is no character")

    def _error(self, node: yaml.Node, text: str) -> RecipeError:
        mark = node.start_mark
        return RecipeError(f"{self.document.source}:{mark.line + 1}:{mark.column + 1}: {text}")
