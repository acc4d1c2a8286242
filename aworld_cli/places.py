"""Where this user's files are (XDG Base Directory Specification)."""

from __future__ import annotations

import os
from pathlib import Path


def config_file() -> Path | None:
    """Return `aworld/config.toml` below XDG_CONFIG_HOME or `~/.config`; None when there is no such file."""
    given = Path(os.environ.get("XDG_CONFIG_HOME") or "")
    try:
        base = given if given.is_absolute() else Path.home() / ".config"  # a relative one is to be ignored
        path = base / "aworld" / "config.toml"
        return path if path.is_file() else None
    except (RuntimeError, OSError):  # no home directory, or one that may not be looked into
        return None
