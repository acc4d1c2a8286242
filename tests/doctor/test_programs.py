"""Sandbox, node, browser, CUDA and PyTorch, with programs that stand in for the real ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from aworld_cli.doctor import packages, programs
from tests.doctor.conftest import AddProgram


def test_a_sandbox_that_is_not_there_works_or_does_not(add_program: AddProgram) -> None:
    found = programs.sandbox()
    assert found.status == "missing" and "apt install bubblewrap" in found.remedy
    add_program("bwrap", 'test "$*" = "--unshare-all --ro-bind / / true"')
    found = programs.sandbox()
    assert found.status == "ok" and ("root" in found.detail) is (os.geteuid() == 0)
    add_program("bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    found = programs.sandbox()
    assert found.status == "error" and found.detail.endswith(
        "does not work: bwrap: No permissions to create new namespace"
    )
    assert "user namespaces" in found.remedy


def test_node(add_program: AddProgram) -> None:
    assert programs.node().status == "missing"
    add_program("node", "echo v12.1.0")
    found = programs.node()
    assert found.status == "warning" and found.detail.startswith("v12.1.0 at ") and "without npx" in found.detail
    add_program("node", "echo v22.0.0")
    add_program("npx", "")
    assert programs.node().status == "ok"


PAGE = "#!/bin/sh\necho '<html><head></head><body></body></html>'\n"


def test_the_newest_browser_of_playwrights_registry(
    add_program: AddProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "registry"))
    found = programs.browser()
    assert found.status == "missing" and "playwright install chromium" in found.remedy
    on_path = add_program("chromium", "echo 'error while loading shared libraries: libnss3.so' >&2; exit 127")
    found = programs.browser()
    assert found.status == "error" and "libnss3.so" in found.detail and "install-deps" in found.remedy
    assert programs.find_browser() == str(on_path)
    for revision in (900, 1187):
        program = tmp_path / "registry" / f"chromium-{revision}" / "chrome-linux" / "chrome"
        program.parent.mkdir(parents=True)
        program.write_text(PAGE)
        program.chmod(0o755)
    found = programs.browser()
    assert found.status == "ok" and "chromium-1187" in found.detail


def test_a_browser_gets_a_profile_that_is_removed(add_program: AddProgram, tmp_path: Path) -> None:
    noted = tmp_path / "arguments"
    add_program("google-chrome", f'echo "$*" > {noted}\necho "<html></html>"')
    assert programs.browser().status == "ok"
    given = noted.read_text()
    assert "--headless" in given and "about:blank" in given and ("--no-sandbox" in given) is (os.geteuid() == 0)
    profile = Path(given.split("--user-data-dir=")[1].split()[0])
    assert not profile.exists()


def test_what_pytorch_was_built_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    info = tmp_path / "torch-9.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "torch", raising=False)
    for text, build in (
        ("cuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n", "CUDA 13.0"),
        ("cuda = None\nhip = '6.4'\n", "ROCm 6.4"),
        ("cuda: Optional[str] = None\n", "the CPU"),
    ):
        (package / "version.py").write_text(text)
        assert packages.torch_build() == ("9.1", build)


def test_gpus(add_program: AddProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert packages.cuda().status in ("missing", "warning")
    add_program("nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch' >&2; exit 18")
    found = packages.cuda()
    assert found.status == "error" and "version mismatch" in found.detail
    add_program("nvidia-smi", "exit 0")
    assert packages.cuda().status == "missing"
    add_program("nvidia-smi", "echo 'NVIDIA H200, 143771 MiB, 570.1'\necho 'NVIDIA H200, 143771 MiB, 570.1'")
    monkeypatch.setattr(packages, "torch_build", lambda: ("2.0", "the CPU"))
    found = packages.cuda()
    assert (
        found.status == "warning" and found.detail.startswith("2 x NVIDIA H200") and "built for the CPU" in found.detail
    )
    monkeypatch.setattr(packages, "torch_build", lambda: ("2.0", "CUDA 13"))
    for answer, status in (("[true, 2]", "ok"), ("[false, 0]", "error"), ("no json", "error")):
        monkeypatch.setattr(packages, "_CUDA", f"print('{answer}')")
        assert packages.cuda().status == status


def test_packages_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "_version", lambda name: None)
    for check in (packages.torch, packages.ray, packages.sglang):
        assert check().status == "missing" and "pip install" in check().remedy
