"""Programs that stand in for those of a machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

AddProgram = Callable[[str, str], Path]


@pytest.fixture
def add_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AddProgram:
    """Put a shell script on a PATH that holds nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return add
