"""Removes runs: nothing but run directories, none that is being written, and nothing outside of them."""

from __future__ import annotations

import shutil
from pathlib import Path

from aworld_cli.archive.store import is_written, size_of
from aworld_cli.errors import MachineError, UsageError
from aworld_cli.run.directory import RunDirectory

_LAST = ("lock.json", ".lock")


def check_removable(path: Path) -> Path:
    """Return the real path of a run that may be removed.

    Raises:
        UsageError: it is a link or no run directory, or a process writes it.
    """
    if path.is_symlink():
        raise UsageError(f"{path}: is a link to {path.readlink()}; name that run itself, and remove the link by hand")
    if not (path / "lock.json").is_file():
        raise UsageError(f"{path}: not a run directory (it holds no lock.json)")
    if is_written(path):
        raise UsageError(f"{path}: another process is writing this run; wait for it, or stop it")
    return path.resolve()


def remove_run(path: Path) -> int:
    """Remove a run and return the bytes that it held. Links within it are removed, never followed.

    What makes it a run goes last, so that a removal that was interrupted can be done again.

    Raises:
        UsageError: a process writes it by now.
        MachineError: something in it cannot be removed.
    """
    freed = size_of(path)
    run = RunDirectory.open(path)
    try:
        for entry in sorted(path.iterdir(), key=lambda entry: entry.name in _LAST):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        path.rmdir()
    except OSError as error:
        raise MachineError(f"{error.filename}: cannot be removed: {error.strerror}") from error
    finally:
        run.close()
    return freed
