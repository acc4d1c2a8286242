"""What a lock says of the machine and of the code: cheap to find out, never a reason to fail."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

_GIT_SECONDS = 5.0


def machine() -> dict[str, Any]:
    """Return system, processor, cores, bytes of memory, and the GPUs that the driver knows."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "gpus": _gpus(),
    }


def distributions() -> dict[str, str]:
    """Return every installed distribution and its version, by name."""
    found = {
        dist.metadata["Name"]: dist.version for dist in importlib.metadata.distributions() if dist.metadata["Name"]
    }
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def git_revision(folder: Path) -> dict[str, Any] | None:
    """Return commit and whether tracked files are changed, for the repository that `folder` lies in; None without."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "changed": bool(changed)}


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def _gpus() -> list[str]:
    found = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        try:
            text = path.read_text(encoding="utf-8")
        except OSError:
            continue
        found += [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Model")]
    return found
