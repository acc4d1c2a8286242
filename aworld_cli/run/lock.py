"""`lock.json`: the recipe as it was run, with everything that decides what it does."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from aworld_cli.errors import UsageError
from aworld_cli.host.inventory import location
from aworld_cli.host.loader import Plugin
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.plan import Plan
from aworld_cli.run.directory import SCHEMA_VERSION, RunDirectory, read_json, write_json
from aworld_cli.run.machine import distributions, git_revision, machine
from aworld_cli.seeds import derive_seed


def write_lock(run: RunDirectory, plan: Plan, registry: Registry) -> None:
    """Write the run's lock. `${env:NAME}` references stay references, so no secret reaches the disk.

    Raises:
        MachineError: it cannot be written.
    """
    lock = plan.document.lock
    revision = cache(git_revision)  # several plugins may lie in one repository
    value = {
        "schema_version": SCHEMA_VERSION,
        "recipe": plan.document.value,
        "source": plan.document.source,
        "directory": str(Path.cwd()),
        "repeats": None if lock is None else lock.get("run"),
        "run": run.path.name,
        "seed": plan.recipe.seed,
        "seeds": {stage.name: derive_seed(plan.recipe.seed, "stage", stage.name) for stage in plan.stages},
        "git": revision(Path(plan.document.source).resolve().parent),
        "python": platform.python_version(),
        "machine": machine(),
        "plugins": [_plugin(plugin, revision) for plugin in registry.plugins if plugin.status == "ok"],
        "distributions": distributions(),
        "command": [Path(sys.argv[0]).name, *without_values(sys.argv[1:])],
    }
    write_json(run.lock_file, value)


def _plugin(plugin: Plugin, revision: Callable[[Path], dict[str, Any] | None]) -> dict[str, Any]:
    """Return what a plugin is; the version of an editable one says little, so its repository's revision stands too."""
    folder, editable = location(plugin)
    git = revision(Path(folder)) if editable else None
    return {"name": plugin.name, "distribution": plugin.distribution, "version": plugin.version, "git": git}


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
