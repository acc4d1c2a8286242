"""Throwaway virtual environments without the network: they see distributions of this one, by links, and no other.

Only what a distribution says it needs is there, so a package that forgot a requirement fails as it would for a user.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import Requirement


class Venv:
    """A virtual environment at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bin = path / "bin"
        self.python = self.bin / "python"
        (self.site,) = (path / "lib").glob("python*/site-packages")

    def run(
        self, *command: str | Path, cwd: Path, check: bool = True, timeout: float = 300
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of this environment; `check` has a failure show what it said."""
        program, *arguments = map(str, command)
        hidden = ("PYTHONPATH", "PYTHONHOME", "PYTEST_", "AWORLD_", "COV_")
        env = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
        done = subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=cwd,
            env={**env, "VIRTUAL_ENV": str(self.path), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        return done

    def pip_install(self, *what: Path) -> None:
        """Install packages or wheels; what they need must be there already."""
        options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
        self.run("python", "-m", "pip", "install", *options, *what, cwd=self.path)


def make_venv(path: Path, requirements: Iterable[str], *, without_own: bool = False) -> Venv:
    """Make an environment that sees the distributions that `requirements` come to, and those that these need.

    `without_own`: AWorld's own are left out, though not what they need; they are to be installed.
    """
    venv.create(path, symlinks=True, with_pip=False)
    made = Venv(path)
    library = path / "library"
    library.mkdir()
    paths = [str(library)]
    for distribution in needed(requirements):
        if without_own and distribution.name.startswith("aworld-"):
            continue
        paths += _link(distribution, library)
    (made.site / "library.pth").write_text("\n".join(paths) + "\n")
    return made


def needed(requirements: Iterable[str]) -> Iterator[importlib.metadata.Distribution]:
    """Yield the installed distributions that requirements come to, each once, and those that these need."""
    waiting = [Requirement(text) for text in requirements]
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    while waiting:
        wanted = waiting.pop()
        distribution = importlib.metadata.distribution(wanted.name)
        assert wanted.specifier.contains(distribution.version), f"{wanted}, but {distribution.version} is installed"
        if wanted.name.lower() not in found:
            found.add(wanted.name.lower())
            yield distribution
        for extra in ("", *wanted.extras):
            if (wanted.name.lower(), extra) not in seen:
                seen.add((wanted.name.lower(), extra))
                needs = map(Requirement, distribution.requires or ())
                waiting += [item for item in needs if item.marker is None or item.marker.evaluate({"extra": extra})]


def _link(distribution: importlib.metadata.Distribution, library: Path) -> list[str]:
    """Link what a distribution brought to site-packages; return the directories that it refers to (editable ones)."""
    folder = Path(str(distribution.locate_file("")))
    paths: list[str] = []
    for name in sorted({file.parts[0] for file in distribution.files or ()}):
        source, target = folder / name, library / name
        if name.endswith(".pth"):
            paths += [line for line in source.read_text().splitlines() if Path(line).is_dir()]
        elif name not in ("..", "__pycache__") and not target.exists():
            target.symlink_to(source)
    return paths
