"""Installs and uninstalls distributions with the running interpreter's pip; no plugin is loaded here.

Invariant: it works however broken the installed plugins are, since only metadata is read.
"""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from aworld_cli.errors import MachineError, PluginError, UsageError, did_you_mean
from aworld_cli.host.scan import OWN, canonical, metadata_directories, name_and_version, scan

_FAULTS = ("ERROR:", "error:", "× ")


class Installed(NamedTuple):
    """One installed distribution; `asked` says that someone asked for it, rather than another distribution."""

    name: str
    version: str
    asked: bool


def installer(action: str) -> list[str]:
    """Return the command that installs into this interpreter, up to its action.

    Args:
        action: "install" or "uninstall".

    Raises:
        MachineError: there is neither pip nor uv.
    """
    if importlib.util.find_spec("pip") is not None:
        quiet = ["--disable-pip-version-check"]
        return [sys.executable, "-P", "-m", "pip", action, *quiet, *(["--yes"] if action == "uninstall" else [])]
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", action, "--python", sys.executable]
    raise MachineError(
        f"{sys.executable} has no pip, and there is no uv on the PATH; {shlex.quote(sys.executable)} -m ensurepip "
        "brings pip; what pipx installed takes `pipx inject aworld-cli SPEC`, "
        "and what uv did `uv tool install aworld-cli --with SPEC`"
    )


def run_installer(action: str, arguments: Sequence[str], say: Callable[[str], None]) -> None:
    """Run pip to its end; all that it writes goes to stderr.

    Args:
        say: takes each line of what it writes on its own stderr.

    Raises:
        MachineError: it failed, or there is none.
    """
    command = [*installer(action), *arguments]
    fault = ""
    with subprocess.Popen(command, stdout=2, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stderr is not None
        for line in process.stderr:
            say(line.rstrip("\n"))
            if line.lstrip().startswith(_FAULTS):
                fault = line.strip()
    if process.returncode:
        what = f"pip {action}" if command[0] == sys.executable else f"uv pip {action}"
        said = f": {fault.removeprefix('ERROR:').removeprefix('error:').strip()}" if fault else ""
        raise MachineError(f"{what} failed with exit code {process.returncode}{said}")


def installed() -> dict[str, tuple[Installed, int]]:
    """Return the installed distributions by metadata directory, each with the time of its installation."""
    found = {}
    for directory in metadata_directories():
        path = Path(directory)
        try:
            files = [path / name for name in ("RECORD", "METADATA", "PKG-INFO", "direct_url.json")]
            stamp = max((file.stat().st_mtime_ns for file in files if file.exists()), default=0)
            name, version = name_and_version(directory)
            found[directory] = (Installed(name, version, (path / "REQUESTED").exists()), stamp)
        except OSError:  # it went while we looked
            continue
    return found


def distributions_to_remove(names: Sequence[str]) -> list[str]:
    """Return the distributions that are meant by names of plugins or distributions.

    Raises:
        UsageError: it is AWorld itself, or a name means two.
        PluginError: nothing installed has the name.
    """
    found = scan()
    chosen: list[str] = []
    for name in names:
        meant = {item.distribution for item in found if canonical(item.distribution) == canonical(name)}
        meant = meant or {item.distribution for item in found if item.name == name}
        if canonical(name) == OWN or OWN in {canonical(item) for item in meant}:
            raise UsageError(f"{name!r} is AWorld itself, not a plugin beside it; `pip uninstall {OWN}` removes it")
        if len(meant) > 1:
            raise UsageError(f"several distributions have a plugin called {name!r}: {', '.join(sorted(meant))}")
        if not meant:
            known = {item.name for item in found} | {item.distribution for item in found}
            raise PluginError(
                f"no plugin or plugin's distribution is called {name!r}{did_you_mean(name, known - {'builtin', OWN})}"
            )
        chosen += meant - set(chosen)
    return chosen
