"""Runs in a fresh interpreter: `python -P probe.py JOB ANSWER`, two JSON files; it must import nothing of its own.

Jobs: `import` loads an entry point as the host does and tells what that cost; `tasks` lists an environment's tasks.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any


def load(job: dict[str, Any]) -> dict[str, Any]:
    """Load the entry point, ask for its components, and tell what is new in this process."""
    importlib.import_module("aworld_cli.host.loader")  # what the host has loaded itself costs the plugin nothing
    before, threads, began = set(sys.modules), threading.active_count(), time.process_time()
    point = importlib.metadata.EntryPoint(job["name"], job["value"], "aworld")
    components: list[Any] = getattr(point.load(), "aworld_components", list)()
    seconds = time.process_time() - began
    named = {reference.partition(":")[0] for one in components for reference in (one.factory, one.config)}
    return {
        "seconds": seconds,
        "modules": sorted(set(sys.modules) - before),
        "eager": sorted(named.intersection(sys.modules) - {point.module}),
        "threads": [one.name for one in threading.enumerate()][threads:],
        "children": _has_children(),
    }


def tasks(job: dict[str, Any]) -> dict[str, Any]:
    """Return a digest of the first tasks of each split, in their order."""
    config, factory = (_attribute(job[key]) for key in ("config", "factory"))
    environment = factory(config.model_validate(job["options"]))
    answer = {}
    for split in environment.splits():
        listed = [[task.id, task.hash] for task in environment.tasks(split, job["limit"])]
        answer[split] = hashlib.sha256(json.dumps(listed).encode()).hexdigest()
    return answer


def _attribute(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


if __name__ == "__main__":
    given, wanted = map(Path, sys.argv[1:])
    made = json.loads(given.read_text())
    wanted.write_text(json.dumps({"import": load, "tasks": tasks}[made["do"]](made)))
