"""The user's config.toml, and the directory and disk that runs are written to."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from aworld_cli.doctor.base import Finding
from aworld_cli.errors import AWorldError

_ENOUGH = 5 << 30
_TOO_LITTLE = 200 << 20


def config() -> Finding:
    """Whether config.toml and the `AWORLD_*` variables hold."""
    from aworld_cli.settings.base import load_settings
    from aworld_cli.settings.places import config_file

    path = config_file()
    try:
        load_settings()
    except AWorldError as error:
        return Finding("error", " ".join(str(error).split()), "correct it; `aworld config` shows what is in effect")
    return Finding("ok", str(path) if path is not None else "no config.toml (none is needed)")


def runs_directory() -> Finding:
    """Whether runs can be written."""
    directory = _runs_dir()
    parent = _existing(directory)
    try:
        with tempfile.TemporaryFile(dir=parent) as file:
            file.write(b"x" * 4_096)
    except OSError as error:
        remedy = "choose another place with --runs-dir or AWORLD_RUNS_DIR"
        return Finding("error", f"{directory} cannot be written ({parent}: {error.strerror})", remedy)
    made = "" if directory.is_dir() else " (made by the first run)"
    return Finding("ok", f"{directory} can be written{made}")


def disk() -> Finding:
    """Room where runs are written."""
    directory = _runs_dir()
    try:
        free = shutil.disk_usage(_existing(directory)).free
    except OSError as error:
        return Finding("unknown", f"{directory}: {error.strerror}")
    detail = f"{free / (1 << 30):.1f} GB free for {directory}"
    if free < _TOO_LITTLE:
        return Finding("error", detail, "free some, or choose another disk with --runs-dir")
    if free < _ENOUGH:
        return Finding("warning", detail, "checkpoints may need more; `aworld runs rm RUN` removes old runs")
    return Finding("ok", detail)


def _runs_dir() -> Path:
    from aworld_cli.settings.base import Settings, load_settings

    try:
        return load_settings().runs_dir.absolute()
    except AWorldError:  # `config` says so
        default = Settings.model_fields["runs_dir"].default
        return Path(default).absolute()


def _existing(path: Path) -> Path:
    """Return the nearest part of a path that is a directory."""
    return next((part for part in (path, *path.parents) if part.is_dir()), Path("/"))
