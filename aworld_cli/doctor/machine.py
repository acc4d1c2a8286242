"""Cores, memory, shared memory and limits of this machine, as the kernel and a container's cgroup grant them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aworld_cli.doctor.base import Finding

_UNLIMITED = 1 << 60  # cgroup v1 writes "no limit" as a number near 2**63
_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
SHARED_MEMORY = Path("/dev/shm")
FILES_WANTED = 4_096
PROCESSES_WANTED = 2_048


def cores() -> Finding:
    """Cores that this process may use, by affinity and by quota."""
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    count = len(affinity) if affinity is not None else os.cpu_count() or 1
    quota = cpu_quota()
    if quota is not None and quota < count:
        detail = f"{count}, of which the container's quota grants {quota:g}"
        return Finding("warning", detail, f"start no more than {max(1, int(quota))} computing threads (`threads:`)")
    return Finding("ok", f"{count}")


def memory() -> Finding:
    """Memory that is left, within what a container grants."""
    limit = memory_limit()
    total, available = _meminfo()
    known = total if limit is None else min(limit, total or limit)
    if known is None:
        return Finding("unknown", "the system does not tell", "")
    within = f", the container's limit (the machine has {_size(total)})" if limit and total and limit < total else ""
    free = min(available, known) if available is not None else known
    detail = f"{_size(known)}{within}; {_size(free)} free"
    if free < 3 << 30:
        return Finding("warning", detail, "close other programs: training a tiny policy with verl took up to 3 GB")
    return Finding("ok", detail)


def shared_memory() -> Finding:
    """Room in /dev/shm, where Ray keeps its objects and our verl plugin hands weights over."""
    if not SHARED_MEMORY.is_dir():
        return Finding("missing", f"no {SHARED_MEMORY}", "Ray then keeps its objects on disk, which is slower")
    try:
        usage = shutil.disk_usage(SHARED_MEMORY)
    except OSError as error:
        return Finding("warning", f"{SHARED_MEMORY} cannot be read: {error.strerror}", "mount a tmpfs there")
    detail = f"{_size(usage.free)} free of {_size(usage.total)} in {SHARED_MEMORY}"
    if not os.access(SHARED_MEMORY, os.W_OK):
        return Finding("warning", f"{SHARED_MEMORY} cannot be written", f"chmod 1777 {SHARED_MEMORY}")
    if usage.free < 1 << 30:
        return Finding("warning", detail, "give a container more: docker run --shm-size=4g")
    return Finding("ok", detail)


def limits() -> Finding:
    """Open files and processes that this user may have."""
    import resource

    files, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    pids = _cgroup_number("pids", "pids.max", "pids.max")
    shown = [f"{_count(files)} open files", f"{_count(processes)} processes"]
    if pids is not None:
        shown.append(f"{pids} processes in the container")
    detail = ", ".join(shown)
    if files not in {resource.RLIM_INFINITY, -1} and files < FILES_WANTED:
        hard = most_files in {resource.RLIM_INFINITY, -1} or most_files >= FILES_WANTED
        how = f"ulimit -n {FILES_WANTED}" if hard else f"raise `nofile` to {FILES_WANTED} in /etc/security/limits.conf"
        return Finding("warning", detail, f"{how} (each connection and tool server takes some)")
    scarce = [limit for limit in (processes, pids) if limit is not None and 0 < limit < PROCESSES_WANTED]
    if scarce:
        how = f"ulimit -u {PROCESSES_WANTED}, or docker run --pids-limit={PROCESSES_WANTED}"
        return Finding("warning", detail, f"{how} (threads count as processes)")
    return Finding("ok", detail)


def cpu_quota(root: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> float | None:
    """Return the cores that this process's cgroups grant (v2 `cpu.max`, v1 `cpu.cfs_quota_us`); None for no limit."""
    found: list[float] = []
    for folder in _folders("cpu", root, membership):
        with suppress(OSError, ValueError):
            quota, period = (folder / "cpu.max").read_text().split()
            if quota != "max":
                found.append(int(quota) / int(period))
        with suppress(OSError, ValueError):
            quota_us = int((folder / "cpu.cfs_quota_us").read_text())
            if quota_us > 0:
                found.append(quota_us / int((folder / "cpu.cfs_period_us").read_text()))
    return min(found, default=None)


def memory_limit(root: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> int | None:
    """Return the bytes that this process's cgroups grant; None for no limit."""
    return _cgroup_number("memory", "memory.max", "memory.limit_in_bytes", root, membership)


def _cgroup_number(
    controller: str, v2: str, v1: str, root: Path = _CGROUPS, membership: Path = _MEMBERSHIP
) -> int | None:
    found: list[int] = []
    for folder in _folders(controller, root, membership):
        for name in dict.fromkeys((v2, v1)):
            with suppress(OSError, ValueError):  # no such file, or "max"
                number = int((folder / name).read_text())
                if 0 < number < _UNLIMITED:
                    found.append(number)
    return min(found, default=None)


def _folders(controller: str, root: Path, membership: Path) -> Iterator[Path]:
    """Yield this process's cgroup and all above it, whose limits hold too, for v2 and for v1's controller."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        number, names, path = (*line.split(":", 2), "", "")[:3]
        if number == "0" and not names:
            base = root
        elif controller in names.split(","):
            base = root / controller
        else:
            continue
        below = path.strip("/").split("/") if path.strip("/") else []
        for end in range(len(below), -1, -1):
            yield base.joinpath(*below[:end])


def _meminfo() -> tuple[int | None, int | None]:
    """Return bytes of memory: all, and what programs can still have."""
    values: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            key, _, rest = line.partition(":")
            values[key] = int(rest.split()[0]) * 1_024
    if "MemTotal" in values:
        return values["MemTotal"], values.get("MemAvailable")
    with suppress(ValueError, OSError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None
    return None, None


def _size(count: int | None) -> str:
    if count is None:
        return "?"
    return f"{count / (1 << 30):.1f} GB" if count >= 1 << 30 else f"{count / (1 << 20):.0f} MB"


def _count(limit: int) -> str:
    return "unlimited" if limit < 0 or limit > _UNLIMITED else str(limit)
