"""Finds entry points in the metadata that installers leave behind; imports no plugin and never raises.

`importlib.metadata` finds the same, but importing it costs more than all that is done here (it brings email, csv and
zipfile), and it raises on damaged metadata. It still serves what is no plain directory: a zip file on `sys.path`, and
finders that are not Python's own. Paths are plain strings here: `pathlib` would double the time.
"""

# ruff: noqa: PTH113, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

GROUP = "aworld"
#: The distribution of the core.
OWN = "aworld-cli"
_SUFFIXES = (".dist-info", ".egg-info")


class Found(NamedTuple):
    """One entry point.

    Attributes:
        name: its name, which is the plugin's; the whole line where the line is malformed.
        value: `"module"` or `"module:attr"`; empty where the line is malformed.
        distribution: the name of its distribution, `version` its version; `"unknown"` where nothing says it.
        metadata: the directory of its metadata; for what lies in a zip file, that file.
        first: where the same distribution was found before, earlier on `sys.path`; else empty.
    """

    name: str
    value: str
    distribution: str
    version: str
    metadata: str
    first: str = ""


def canonical(name: str) -> str:
    """Return a distribution's name as comparisons need it: `Aworld_Mine` and `aworld-mine` are the same."""
    return re.sub(r"[-_.]+", "-", name).lower()


def scan(group: str = GROUP) -> list[Found]:
    """Return the group's entry points, by distribution and name; those found first on `sys.path` come first."""
    found: list[Found] = []
    first: dict[str, str] = {}
    for directory in metadata_directories():
        key = canonical(_stem(directory).partition("-")[0])
        before = first.setdefault(key, directory)
        found += _entry_points(
            group,
            _read(os.path.join(directory, "entry_points.txt")),
            directory,
            "" if before == directory else before,
        )
    found += _other(group)
    return sorted(found, key=lambda item: (canonical(item.distribution), item.name, bool(item.first)))


def metadata_directories() -> Iterator[str]:
    """Yield the directory of each installed distribution's metadata, in the order of `sys.path`."""
    seen: set[str] = set()
    for base in sys.path:
        try:
            where = os.path.realpath(base or os.curdir)
            if where in seen:
                continue
            seen.add(where)
            names = sorted(os.listdir(where))
        except (OSError, ValueError, TypeError):  # no directory (see `_other`), or no path at all
            continue
        for name in names:
            # pip renames what it could not remove: a leading ~ marks it
            if (name.endswith(_SUFFIXES) and name[0] != "~") or (name == "EGG-INFO" and where.endswith(".egg")):
                yield os.path.join(where, name)


def name_and_version(directory: str) -> tuple[str, str]:
    """Return what METADATA says, else what the directory's own name says."""
    text = _read(os.path.join(directory, "METADATA")) or _read(os.path.join(directory, "PKG-INFO"))
    name, _, version = _stem(directory).partition("-")
    return header(text, "Name") or name, header(text, "Version") or version or "unknown"


def header(text: str, name: str) -> str:
    """Return one header of METADATA; empty where it is absent."""
    found = re.search(rf"^{name}:[ \t]*(.*?)[ \t]*\r?$", text.partition("\n\n")[0], re.MULTILINE | re.IGNORECASE)
    return found.group(1) if found else ""


def _stem(directory: str) -> str:
    name = os.path.basename(directory)
    if name == "EGG-INFO":
        name = os.path.basename(os.path.dirname(directory))
    return name.rpartition(".")[0]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _entry_points(group: str, text: str, directory: str, first: str) -> Iterator[Found]:
    if group not in text:
        return
    name, version = name_and_version(directory)
    for line in _lines(group, text):
        key, _, value = (part.strip() for part in line.partition("="))
        yield Found(key if value else line, value, name, version, directory, first)


def _lines(group: str, text: str) -> Iterator[str]:
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif section == group and line and line[0] not in "#;":
            yield line


def _other(group: str) -> Iterator[Found]:
    """Yield what lies in zip files on `sys.path`, and what finders that are not Python's own know."""
    files = [base for base in sys.path if isinstance(base, str) and os.path.isfile(base)]
    finders = [item for item in sys.meta_path if item is not PathFinder and hasattr(item, "find_distributions")]
    if not files and not finders:
        return
    import importlib.metadata

    context = importlib.metadata.DistributionFinder.Context
    asked: list[tuple[Any, Any, str]] = [(PathFinder, context(path=[base]), base) for base in files]
    asked += [(item, context(), type(item).__name__) for item in finders]
    for finder, where, place in asked:
        try:
            for distribution in finder.find_distributions(where):
                yield from _of_distribution(group, distribution, place)
        except Exception:  # a finder may raise anything; what it knows is lost, the program is not
            continue


def _of_distribution(group: str, distribution: Any, place: str) -> Iterator[Found]:
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    name, version = header(text, "Name") or "unknown", header(text, "Version") or "unknown"
    for line in _lines(group, distribution.read_text("entry_points.txt") or ""):
        key, _, value = (part.strip() for part in line.partition("="))
        yield Found(key if value else line, value, name, version, place)
