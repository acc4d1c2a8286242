"""`lock.json`: the recipe as it was run, with everything that decides what it does."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

from aworld_cli.errors import UsageError
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.loading import Plan
from aworld_cli.run.directory import SCHEMA_VERSION, RunDirectory, read_json, write_json


def write_lock(run: RunDirectory, plan: Plan, registry: Registry, settings: list[str]) -> None:
    """Write the run's lock. `${env:NAME}` references stay references, so no secret reaches the disk."""
    versions = {
        dist.metadata["Name"]: dist.version for dist in importlib.metadata.distributions() if dist.metadata["Name"]
    }
    value = {
        "schema_version": SCHEMA_VERSION,
        "recipe": plan.document.value,
        "source": plan.document.source,
        "settings": settings,
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
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
    }
    write_json(run.lock_file, value)


def read_lock(run: RunDirectory) -> tuple[Document, Path]:
    """Return the recipe of a run's lock, and the directory that relative paths in it start from.

    Raises:
        UsageError: the lock is damaged or of another version.
    """
    value: Any = read_json(run.lock_file)
    if not isinstance(value, dict) or value.get("schema_version") != SCHEMA_VERSION:
        raise UsageError(f"{run.lock_file}: not a lock of version {SCHEMA_VERSION}")
    return Document(str(run.lock_file), value["recipe"]), Path(value["directory"])
