"""The interpreter, and whose script `aworld` is: PyPI has another distribution of that name."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sys
import sysconfig
from pathlib import Path

from aworld_cli.doctor.base import Finding

SUPPORTED = ((3, 11), (3, 12))
OURS = "aworld-cli"


def python() -> Finding:
    """The interpreter's version, and where it is."""
    where = "virtual environment" if sys.prefix != sys.base_prefix else "no virtual environment"
    detail = f"{platform.python_version()} at {sys.executable} ({where})"
    if sys.version_info[:2] in SUPPORTED:
        return Finding("ok", detail)
    wanted = " or ".join(f"{major}.{minor}" for major, minor in SUPPORTED)
    return Finding("error", detail, f"install aworld-cli under Python {wanted}")


def script() -> Finding:
    """Whose `aworld` the shell finds, and whether another distribution installs one."""
    others = sorted({name for name in script_owners() if name.lower() != OURS})
    if others:
        names = " and ".join(others)
        remedy = f"pip uninstall {' '.join(others)} && pip install --force-reinstall --no-deps {OURS}"
        return Finding("error", f"{names} also installs a script `aworld` into this environment", remedy)
    found = shutil.which("aworld")
    if found is None:
        directory = sysconfig.get_path("scripts")
        return Finding("warning", "no `aworld` on PATH", f"add {directory} to PATH, or call `python -m aworld_cli`")
    if _is_ours(Path(found)):
        return Finding("ok", f"`aworld` is {found}")
    detail = f"`aworld` on PATH is {found}, which is not of this interpreter ({sys.executable})"
    return Finding("warning", detail, "activate this environment, or call `python -m aworld_cli`")


def script_owners() -> list[str]:
    """Return the names of the installed distributions that bring a program called `aworld`."""
    found: list[str] = []
    for dist in importlib.metadata.distributions():
        points = dist.entry_points.select(group="console_scripts", name="aworld")
        if points or dist.name == "aworld":
            found.append(dist.name)
    return found


def _is_ours(path: Path) -> bool:
    """Tell whether a script runs by an interpreter of this environment."""
    scripts = Path(sysconfig.get_path("scripts"))
    if path.parent.resolve() == scripts.resolve():
        return True
    try:
        with path.open("rb") as file:
            first = file.readline(4_096).decode(errors="replace")
    except OSError:
        return False
    words = first.removeprefix("#!").split()
    return first.startswith("#!") and bool(words) and Path(words[0]).parent == Path(sys.executable).parent
