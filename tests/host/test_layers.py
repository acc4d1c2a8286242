"""The core imports no plugin; the example plugins import only what the core's packages show."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = ("aworld_arithmetic", "aworld_local", "aworld_openai", "aworld_toolbox", "aworld_verl")


def imported(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file below a folder and each module that it names in an import."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                yield path, node.module


def test_the_core_imports_no_plugin() -> None:
    assert not [(str(path), name) for path, name in imported(ROOT / "aworld_cli") if name.split(".")[0] in PLUGINS]


@pytest.mark.parametrize("plugin", ["aworld-arithmetic", "aworld-openai", "aworld-toolbox"])
def test_a_plugin_imports_only_what_the_core_shows(plugin: str) -> None:
    core = [(str(path), name) for path, name in imported(ROOT / "plugins" / plugin) if name.startswith("aworld_cli.")]
    assert core
    assert not [(path, name) for path, name in core if name.count(".") > 1]
