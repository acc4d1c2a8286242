"""`lock.json`: the recipe as it was run, with everything that decides what it does."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aworld_cli.errors import UsageError
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.loading import Plan
from aworld_cli.run.directory import SCHEMA_VERSION, RunDirectory, read_json, write_json


def write_lock(run: RunDirectory, plan: Plan, registry: Registry) -> None:
    """Write the run's lock. `${env:NAME}` references stay references, so no secret reaches the disk.

    Raises:
        MachineError: it cannot be written.
    """
    versions = {
        dist.metadata["Name"]: dist.version for dist in importlib.metadata.distributions() if dist.metadata["Name"]
    }
    value = {
        "schema_version": SCHEMA_VERSION,
        "recipe": plan.document.value,
        "source": plan.document.source,
        "directory": str(Path.cwd()),
        "seed": plan.recipe.seed,
        "python": platform.python_version(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
        },
        "plugins": [
            {"name": plugin.name, "distribution": plugin.distribution, "version": plugin.version}
            for plugin in registry.plugins
            if plugin.status == "ok"
        ],
        "distributions": dict(sorted(versions.items(), key=lambda item: item[0].lower())),
        "command": [Path(sys.argv[0]).name, *without_values(sys.argv[1:])],
    }
    write_json(run.lock_file, value)


def without_values(arguments: Iterable[str]) -> list[str]:
    """Return a command line with the values of its `--set` options cut off: `recipe` holds what they came to."""
    shown: list[str] = []
    after_set = False
    for argument in arguments:
        if after_set:
            shown.append(f"{argument.partition('=')[0]}=...")
        elif argument.startswith("--set="):
            shown.append(f"--set={argument.removeprefix('--set=').partition('=')[0]}=...")
        else:
            shown.append(argument)
        after_set = argument == "--set" and not after_set
    return shown


def read_lock(run: RunDirectory) -> tuple[Document, Path]:
    """Return the recipe of a run's lock, and the directory that relative paths in it start from.

    Raises:
        UsageError: there is none, or it is damaged or of another version.
    """
    value: Any = read_json(run.lock_file)
    if value is None:
        raise UsageError(f"{run.path}: not a run directory (it holds no lock.json)")
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA_VERSION:
        raise UsageError(f"{run.lock_file}: not a lock of version {SCHEMA_VERSION}")
    recipe, directory = value.get("recipe"), value.get("directory")
    if not isinstance(recipe, dict) or not isinstance(directory, str):
        raise UsageError(f"{run.lock_file}: damaged: it holds no recipe")
    return Document(str(run.lock_file), recipe), Path(directory)
