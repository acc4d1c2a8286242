"""Plugins for the kit to judge: installed for one test, in this process and in those that it starts."""

from __future__ import annotations

import gc
import itertools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aworld_cli.testing import Check, Conformance
from tests.testing.samples import ENTRY, SERVER, SOUND

Plant = Callable[..., str]
CheckOf = Callable[[str, str], Check]
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def let_go() -> Iterator[None]:
    """Close what bad plugins left open here, not in the middle of somebody else's test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for _ in range(2):  # a finalizer may let go of more
            gc.collect()


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plant]:
    """Install the sound plugin of a kind, with lines replaced; return the name of its entry point."""
    monkeypatch.setattr("aworld_cli.testing.surroundings._GRACE", 1.0)
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.syspath_prepend(site)
    made: list[str] = []

    def install(kind: str, *changes: tuple[str, str], entry: str = ENTRY, source: str | None = None) -> str:
        name = f"kitsample{os.getpid()}x{next(_numbers)}"
        made.append(name)
        files = {f"{name}.py": entry, f"{name}_impl.py": source or SOUND[kind], "server.py": SERVER}
        for old, new in changes:
            assert any(old in text for text in files.values()), old
            files = {file: text.replace(old, new) for file, text in files.items()}
        for file, text in files.items():
            (site / file).write_text(text.replace("{kind}", kind).replace("{name}", name))
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[aworld]\n{name} = {name}\n")
        return name

    yield install
    for name in made:
        sys.modules.pop(name, None)
        sys.modules.pop(f"{name}_impl", None)


@pytest.fixture
def check_of() -> CheckOf:
    """Find one of a plugin's checks by the end of its name."""

    def find(plugin: str, end: str) -> Check:
        checks = Conformance(plugin).checks()
        (found,) = [check for check in checks if str(check).endswith(end)]
        return found

    return find


def failure(check: Check) -> str:
    """Return the text of a check that fails; what the bad plugin left open is let go of here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            check()
            text = ""
        except AssertionError as error:
            text = str(error)
        gc.collect()
    return text
