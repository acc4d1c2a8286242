"""The cache of fetched models."""

from __future__ import annotations

from pathlib import Path

from aworld_cli.errors import MachineError
from aworld_cli.settings.places import cache_directory

#: What `aworld models fetch` knows: name -> the directory's name in the cache.
KNOWN = {"smollm2": "smollm2-135m-instruct"}


def model_directory(name: str) -> Path:
    """Return where the known model called `name` is or will be."""
    return cache_directory() / "models" / KNOWN[name]


def find_model(path: str) -> Path:
    """Return the directory that a recipe's `path` means: a known model's name, or a directory.

    Raises:
        MachineError: it is not there; the text says how to get it.
    """
    if path in KNOWN:
        directory = model_directory(path)
        if not (directory / "config.json").is_file():
            raise MachineError(f"the model {path!r} is not in the cache; get it with: aworld models fetch {path}")
        return directory
    directory = Path(path)
    if not (directory / "config.json").is_file():
        raise MachineError(
            f"{path}: no Hugging Face model there (no config.json); give its directory, or one of {', '.join(KNOWN)}"
        )
    return directory
