"""Limits of cgroups, shared memory and resource limits."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from aworld_cli.doctor import machine


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_tightest_limit_above_a_process_holds_v2(tmp_path: Path) -> None:
    membership = tmp_path / "self"
    membership.write_text("0::/pod/container\n")
    root = tmp_path / "cgroup"
    write(root / "pod/container/cpu.max", "max 100000\n")
    write(root / "pod/cpu.max", "150000 100000\n")
    write(root / "cpu.max", "400000 100000\n")
    write(root / "pod/container/memory.max", "max\n")
    write(root / "pod/memory.max", f"{3 << 30}\n")
    assert machine.cpu_quota(root, membership) == 1.5
    assert machine.memory_limit(root, membership) == 3 << 30


def test_limits_of_v1(tmp_path: Path) -> None:
    membership = tmp_path / "self"
    membership.write_text("5:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n0::/\n")
    root = tmp_path / "cgroup"
    write(root / "cpu/docker/a/cpu.cfs_quota_us", "50000")
    write(root / "cpu/docker/a/cpu.cfs_period_us", "100000")
    write(root / "cpu/cpu.cfs_quota_us", "-1")
    write(root / "memory/docker/a/memory.limit_in_bytes", str(1 << 30))
    write(root / "memory/memory.limit_in_bytes", str(2**63 - 4096))
    assert machine.cpu_quota(root, membership) == 0.5
    assert machine.memory_limit(root, membership) == 1 << 30


def test_no_limit(tmp_path: Path) -> None:
    membership = tmp_path / "self"
    assert machine.cpu_quota(tmp_path, membership) is None  # no such file
    membership.write_text("0::/\nnonsense\n")
    write(tmp_path / "memory.max", "max")
    assert machine.memory_limit(tmp_path, membership) is None


def test_a_quota_below_the_cores_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cpu_quota", lambda: 0.5)
    found = machine.cores()
    assert found.status == "warning" and "quota grants 0.5" in found.detail and "no more than 1 " in found.remedy
    monkeypatch.setattr(machine, "cpu_quota", lambda: None)
    assert machine.cores().status == "ok"


def test_little_memory_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "memory_limit", lambda: 1 << 30)
    found = machine.memory()
    assert found.status == "warning" and found.detail.startswith("1.0 GB, the container's limit")


def test_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "SHARED_MEMORY", tmp_path / "none")
    assert machine.shared_memory().status == "missing"
    monkeypatch.setattr(machine, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: type("U", (), {"free": 60 << 20, "total": 64 << 20}))
    found = machine.shared_memory()
    assert found.status == "warning" and found.detail.startswith("60 MB free of 64 MB") and "--shm-size" in found.remedy


def test_few_open_files_are_a_warning() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    try:
        found = machine.limits()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found.status == "warning" and found.detail.startswith("512 open files") and "4096" in found.remedy
