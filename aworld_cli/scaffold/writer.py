"""Writes a new plugin package: whole or not at all, and never over what is there.

A template is a directory of files that end in `.tmpl`: `templates/common` and the kind's own. `@word@` in them stands
for a value, `_package_` in a path for the package. No other text is changed, so a template is real code.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from aworld_cli.errors import MachineError, UsageError
from aworld_cli.scaffold.kinds import TEMPLATES
from aworld_cli.scaffold.naming import Names

_TEMPLATES: Final = Path(__file__).with_name("templates")
_SUFFIX: Final = ".tmpl"
_PLACEHOLDER: Final = re.compile(r"@([a-z_]+)@")


def render(names: Names) -> dict[str, str]:
    """Return the files of a new package: their texts by their paths, which are relative and sorted."""
    template = TEMPLATES[names.kind]
    values = {
        "kind": names.kind,
        "a_kind": template.a_kind,
        "summary": template.summary,
        "name": names.name,
        "distribution": names.distribution,
        "package": names.package,
        "tool": names.identifier,
        "dependencies": _listed(template.needs),
        "test_dependencies": _listed(template.tests_need),
    }
    found = dict(_read(names))
    values["recipe"] = _fill(found["recipe.yaml"], values)
    values["usage"] = _fill(found.pop("usage.md"), values)
    return {path: _fill(text, values) for path, text in sorted(found.items())}


def write_package(names: Names, parent: Path) -> tuple[Path, list[str]]:
    """Write `parent/DISTRIBUTION`; return it and the files in it.

    Raises:
        UsageError: there is something of that name.
        MachineError: it cannot be written; nothing is left of it.
    """
    target = parent / names.distribution
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already; choose another name, or another place with --directory")
    files = render(names)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{names.distribution}-", dir=parent) as draft:
            made = Path(draft) / names.distribution
            for path, text in files.items():
                file = made / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
            made.rename(target)
    except OSError as error:
        text = f"{target}: cannot be written: {error.strerror}"
        raise MachineError(f"{text}; choose another place with --directory") from error
    return target, list(files)


def _read(names: Names) -> Iterator[tuple[str, str]]:
    for folder in (_TEMPLATES / "common", _TEMPLATES / names.kind):
        for file in folder.rglob(f"*{_SUFFIX}"):
            path = file.relative_to(folder).as_posix().removesuffix(_SUFFIX).replace("_package_", names.package)
            yield path, file.read_text(encoding="utf-8")


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def _listed(items: tuple[str, ...]) -> str:
    return ", ".join(f'"{item}"' for item in items)
