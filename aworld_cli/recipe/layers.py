"""A recipe's layers: the user's config.toml < base files < the file itself < variables < `--set`.

What one layer says replaces what the layers below say, key by key: mappings are merged, everything else is replaced,
null included. A component of another `kind` replaces the one below whole, since options are for one kind.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from pathlib import Path
from typing import Any, Final

from aworld_cli.errors import Problem, RecipeError, UsageError
from aworld_cli.recipe.components import SINGLE, is_component, kind_of
from aworld_cli.recipe.document import Document, KeyPath, Place, dotted, scan_document
from aworld_cli.recipe.environment import is_reference, scalars
from aworld_cli.recipe.locked import is_lock, unlocked
from aworld_cli.recipe.overrides import apply_overrides, apply_variables
from aworld_cli.recipe.secrets import looks_secret, speaks_of_secret
from aworld_cli.recipe.yaml12 import MAX_INTEGER
from aworld_cli.settings.user_config import read_user_config
from aworld_cli.settings.variables import RECIPE_PREFIX

EXTENDS: Final = "extends"
MAX_CHAIN: Final = 10
MAX_FILES: Final = 50
_TABLE: Final = "recipe"  # of config.toml


def read_recipe(path: Path, settings: Sequence[str] = (), environ: Mapping[str, str] | None = None) -> Document:
    """Return the recipe at `path` with all its layers merged; what is wrong with it stands in its `faults`.

    A run's lock is one layer alone, since it is resolved: it is what it says, whatever variables and files say.

    Raises:
        RecipeError: a file cannot be read to its end; all that is wrong is said, with file:line:column.
        UsageError: config.toml, a variable or a `--set` is wrong.
    """
    own = scan_document(path)
    if is_lock(own):
        document = unlocked(own)
        apply_overrides(document, settings)
        return document
    bases = _Bases(own, path)
    files = [own, *bases.found]
    if any(not at or at[0] == EXTENDS for file in files for at, _ in file.faults):
        raise RecipeError.of(problem for file in files for _, problem in file.faults)
    document = _defaults()
    for file in (*bases.found, own):
        document = merge(document, file)
    document.value.pop(EXTENDS, None)
    document.forget((EXTENDS,))
    document.files = files
    document.faults = [fault for file in files for fault in file.faults]
    apply_variables(document, os.environ if environ is None else environ)
    apply_overrides(document, settings)
    return document


def merge(below: Document, above: Document) -> Document:
    """Return a new document: `above` over `below`, with the place of every value."""
    replaced: set[KeyPath] = set()
    value = _merged(below.value, above.value, (), replaced)
    kept = {
        path: place
        for path, place in below.marks.items()
        if not any(path[:end] in replaced for end in range(len(path) + 1))
    }
    return Document(above.source, value, {**kept, **above.marks}, above.text)


def _merged(below: Any, above: Any, path: KeyPath, replaced: set[KeyPath]) -> Any:
    if not isinstance(below, dict) or not isinstance(above, dict) or _other_kind(below, above, path):
        replaced.add(path)
        return copy.deepcopy(above)
    value: dict[str, Any] = {}
    for key in (*below, *(key for key in above if key not in below)):
        if key not in above:
            value[key] = copy.deepcopy(below[key])
        elif key in below:
            value[key] = _merged(below[key], above[key], (*path, key), replaced)
        else:
            value[key] = copy.deepcopy(above[key])
    return value


def _other_kind(below: dict[str, Any], above: dict[str, Any], path: KeyPath) -> bool:
    """Tell whether both say a `kind`, and not the same."""
    kind = above.get("kind")
    before = kind_of(path, below) if is_component(path) else below.get("kind")
    return kind is not None and before is not None and kind != before


def ambient_values(environ: Mapping[str, str] | None = None) -> Iterator[tuple[str, Any, Place]]:
    """Yield the key, the value and the place of all that config.toml and variables say of every recipe.

    What may be a secret, which would be refused, is not shown.

    Raises:
        UsageError: config.toml is wrong.
    """
    document = _defaults()
    variables = os.environ if environ is None else environ
    found = [(dotted(path), value, document.place(path)) for path, value in scalars(document.value)]
    for name in sorted(variables):
        if name.upper().startswith(RECIPE_PREFIX) and variables[name]:
            key = name[len(RECIPE_PREFIX) :].lower().replace("__", ".")
            found.append((key, variables[name], Place(name, layer="variable")))
    for key, value, place in found:
        secret = looks_secret(value) or (speaks_of_secret(key.rpartition(".")[2]) and not is_reference(str(value)))
        yield key, "**********" if secret else value, place


def copies(document: Document) -> dict[str, str]:
    """Return what a run keeps of its recipe's files, by name below its directory: each as it was given."""
    kept = {"recipe.yaml": document.text}
    for number, file in enumerate(document.files[1:], start=1):
        kept[f"recipe.d/{number:02d}-{Path(file.source).name}"] = file.text
    return kept


class _Bases:
    """The files that a recipe extends, those that they extend before them; `found` has the weakest first.

    A file that is reached twice counts once, at its first place.
    """

    def __init__(self, file: Document, path: Path) -> None:
        self.found: list[Document] = []
        self._seen: set[Path] = set()
        self._add(file, (_identity(path),))

    def _add(self, file: Document, chain: tuple[Path, ...]) -> None:
        for at, name in _extended(file):
            target = _beside(Path(file.source), name)
            path = _identity(target)
            fault = self._refused(path, chain) or _unreachable(target)
            if fault:
                file.faults.append((at, file.problem(at, fault)))
            elif path not in self._seen:
                self._seen.add(path)
                base = scan_document(target)
                self._add(base, (*chain, path))
                self.found.append(base)

    def _refused(self, path: Path, chain: tuple[Path, ...]) -> str:
        if path in chain:
            around = " -> ".join(part.name for part in (*chain[chain.index(path) :], path))
            return f"a file cannot extend itself: {around}"
        if len(chain) > MAX_CHAIN:
            return f"more than {MAX_CHAIN} files, each of which extends the next"
        return f"more than {MAX_FILES} files in all" if len(self._seen) >= MAX_FILES else ""


def _extended(file: Document) -> list[tuple[KeyPath, str]]:
    """Return the paths that a file's `extends` names, and where; a fault of the file where it names none."""
    if EXTENDS not in file.value or any(at[:1] == (EXTENDS,) for at, _ in file.faults):
        return []
    given = file.value[EXTENDS]
    names: dict[KeyPath, Any] = {(EXTENDS,): given}
    if isinstance(given, list):
        names = {(EXTENDS, index): name for index, name in enumerate(given)}
    wrong = [at for at, name in names.items() if not _is_path(name)]
    if wrong or not names:
        at: KeyPath = wrong[0] if wrong else (EXTENDS,)
        file.faults.append((at, file.problem(at, "the path of a recipe file is expected, or a list of such paths")))
        return []
    return list(names.items())


def _is_path(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip()) and "${env:" not in name and "\0" not in name


def _unreachable(target: Path) -> str:
    """Return why there is nothing to read at a path; "" where something is."""
    try:
        target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no file {target}"
    except OSError as error:  # its name is too long, or its folder may not be looked into
        return f"{target} cannot be read: {error.strerror}"
    return ""


def _beside(file: Path, name: str) -> Path:
    """Return the path that a file names: relative to its folder, or to the current one when it comes by a pipe."""
    here = file.is_file() and file.parts[:2] not in (("/", "dev"), ("/", "proc"))
    return (file.parent if here else Path()) / name


def _identity(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _defaults() -> Document:
    """Return the table `recipe` of the user's config.toml."""
    config = read_user_config()
    table = config.values.get(_TABLE, {})
    if not isinstance(table, dict):
        raise UsageError(f"{config.where((_TABLE,))}: {_TABLE}: a table of recipe keys is expected")
    document = Document(str(config.path), table)
    for path, (line, column) in config.marks.items():
        if path[:1] == (_TABLE,):
            document.marks[path[1:]] = Place(str(config.path), line, column, "config")
    wrong = [str(problem) for problem in _misplaced(document)]
    if wrong:
        raise UsageError("\n".join(wrong))
    return document


def _misplaced(document: Document) -> Iterator[Problem]:
    """Yield what config.toml must not say of recipes."""

    def problem(path: KeyPath, text: str) -> Problem:
        return replace(document.problem(path, text), key=dotted((_TABLE, *path)))

    if EXTENDS in document.value:
        yield problem((EXTENDS,), "only a recipe file extends another")
    for kind in SINGLE:
        component = document.value.get(kind)
        if isinstance(component, dict) and kind_of((kind,), component) is None:
            yield problem((kind,), "say the `kind` that these options are for")
    for path, value in scalars(document.value):
        if isinstance(value, date | time):
            yield problem(path, "recipes have no dates; put it in quotes")
        elif isinstance(value, int) and abs(value) >= MAX_INTEGER:
            yield problem(path, "a number of more than 300 digits")
