"""Where this user's files are: below AWORLD_HOME, else where the platform keeps such files.

On Linux that is the XDG Base Directory Specification; on macOS `~/Library`, unless an XDG variable is set.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_MAC = {"XDG_CONFIG_HOME": "Library/Application Support", "XDG_CACHE_HOME": "Library/Caches"}
_LINUX = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}


def config_path() -> Path:
    """Return where the user's `config.toml` is, or would be.

    Raises:
        RuntimeError: there is no home directory.
    """
    home = os.environ.get("AWORLD_HOME")
    return (Path(home).expanduser() if home else _platform("XDG_CONFIG_HOME")) / "config.toml"


def config_file() -> Path | None:
    """Return the user's `config.toml`; None when there is no such file."""
    try:
        path = config_path()
        return path if path.is_file() else None
    except (RuntimeError, OSError):  # no home directory, or one that may not be looked into
        return None


def cache_directory() -> Path:
    """Return where fetched models are kept: AWORLD_CACHE_DIR, `cache` below AWORLD_HOME, or the platform's place.

    Raises:
        RuntimeError: there is no home directory.
    """
    given, home = os.environ.get("AWORLD_CACHE_DIR"), os.environ.get("AWORLD_HOME")
    if given:
        return Path(given).expanduser()
    return Path(home).expanduser() / "cache" if home else _platform("XDG_CACHE_HOME")


def _platform(variable: str) -> Path:
    given = Path(os.environ.get(variable) or "")
    if given.is_absolute():  # a relative one is to be ignored, says the specification
        return given / "aworld"
    return Path.home() / (_MAC if sys.platform == "darwin" else _LINUX)[variable] / "aworld"
