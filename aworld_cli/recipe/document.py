"""Reads YAML into plain values and remembers the line and column of every key and value.

The YAML 1.2 core schema is used, so that `no`, `on`, `010` and `2026-01-01` are what they look like; duplicate
keys are errors; what aliases expand to is bounded, so that a small file cannot fill the memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from aworld_cli.errors import RecipeError

KeyPath = tuple[str | int, ...]
MAX_NODES = 100_000


@dataclass(slots=True)
class Document:
    """A parsed file: its value, and `(line, column)` from 1 for every key path in it."""

    source: str
    value: Any
    marks: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """Return `file:line:column` of the nearest part of `path` that the file holds."""
        for end in range(len(path), -1, -1):
            mark = self.marks.get(path[:end])
            if mark is not None:
                return f"{self.source}:{mark[0]}:{mark[1]}"
        return self.source


class _Loader(yaml.SafeLoader):
    """The YAML 1.2 core schema on PyYAML's parser."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own design)


def _resolver(tag: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))


_resolver("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF")
_resolver("null", r"^(?:~|null|Null|NULL|)$", "~nN\0")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^$"), [""])
_resolver("int", r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", "-+0123456789")
_resolver(
    "float",
    r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
    "-+.0123456789",
)
_resolver("merge", r"^<<$", "<")


def read_document(path: Path) -> Document:
    """Parse the file at `path`.

    Raises:
        RecipeError: it cannot be read or is not one YAML mapping; the text holds file:line:column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path}: not a UTF-8 text file (byte {error.start})") from error
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror or error}") from error
    return parse_document(text, str(path))


def parse_document(text: str, source: str) -> Document:
    """Parse YAML text; `source` is what error texts call the file."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        raise RecipeError(f"{where}: not valid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise RecipeError(f"{source}: not valid YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise RecipeError(f"{source}: nested too deeply") from error
    if not isinstance(node, yaml.MappingNode):
        raise RecipeError(f"{source}: a recipe is a mapping of keys to values, starting with `aworld: 1`")
    document = Document(source, None)
    document.value = _Builder(document).build(node, ())
    return document


class _Builder:
    """Turns YAML nodes into values while it notes their positions."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.scalars = _Loader("")
        self.count = 0
        self.open: set[int] = set()

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        self.count += 1
        if self.count > MAX_NODES:
            raise self._error(node, f"more than {MAX_NODES:,} values once its aliases are expanded")
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
        if node.tag == "tag:yaml.org,2002:int":
            text = node.value
            bases = {"0x": 16, "0o": 8}
            return int(text, bases.get(text[:2], 10))
        if node.tag == "tag:yaml.org,2002:float":
            text = node.value.lower()
            return float(text.replace(".inf", "inf").replace(".nan", "nan"))
        if node.tag not in {f"tag:yaml.org,2002:{name}" for name in ("str", "bool", "null")}:
            raise self._error(node, f"the tag {node.tag!r} is not used in recipes")
        if node.tag.endswith("str"):
            return node.value
        return self.scalars.construct_object(node)

    def _error(self, node: yaml.Node, text: str) -> RecipeError:
        mark = node.start_mark
        return RecipeError(f"{self.document.source}:{mark.line + 1}:{mark.column + 1}: {text}")
