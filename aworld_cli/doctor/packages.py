"""PyTorch, CUDA, Ray and SGLang: what is installed. None is imported here; a GPU is asked for by another process."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
from pathlib import Path

from aworld_cli.doctor.base import Finding
from aworld_cli.doctor.probe import ProbeError, run_program, run_python

_NVIDIA = ("--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
_CUDA = "import json, torch; print(json.dumps([torch.cuda.is_available(), torch.cuda.device_count()]))"


def torch() -> Finding:
    """PyTorch's version, and what it was built for."""
    found = torch_build()
    if found is None:
        return Finding("missing", "not installed", "pip install aworld-local (local models and training)")
    version, build = found
    return Finding("ok", f"{version}, built for {build}")


def torch_build() -> tuple[str, str] | None:
    """Return PyTorch's version and `the CPU`, `CUDA X` or `ROCm X`, without importing it; None where it is absent."""
    version = _version("torch")
    spec = importlib.util.find_spec("torch")
    if version is None or spec is None or not spec.submodule_search_locations:
        return None
    build = "the CPU"
    try:
        text = Path(spec.submodule_search_locations[0], "version.py").read_text()
    except OSError:
        return version, build
    for name, title in (("cuda", "CUDA"), ("hip", "ROCm")):
        match = re.search(rf"^{name}\b[^=]*=\s*['\"]([^'\"]+)", text, re.MULTILINE)
        if match:
            build = f"{title} {match[1]}"
    return version, build


def cuda() -> Finding:
    """NVIDIA's driver and GPUs, and whether this PyTorch can use them."""
    program = shutil.which("nvidia-smi")
    if program is None:
        if Path("/dev/nvidia0").exists():
            return Finding("warning", "a GPU, but no nvidia-smi", "give the container the driver's tools (utility)")
        return Finding("missing", "no NVIDIA driver (no nvidia-smi); models run on the CPU", "install NVIDIA's driver")
    try:
        rows = [row.strip() for row in run_program([program, *_NVIDIA]).splitlines() if row.strip()]
    except ProbeError as error:
        return Finding("error", f"nvidia-smi fails: {error}", "mend or reinstall NVIDIA's driver")
    if not rows:
        return Finding("missing", "NVIDIA's driver sees no GPU", "give the container its GPUs (docker run --gpus all)")
    gpus = f"{len(rows)} x {rows[0]}"
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        gpus += f"; CUDA_VISIBLE_DEVICES={visible}"
    return _usable(gpus)


def _usable(gpus: str) -> Finding:
    found = torch_build()
    if found is None:
        return Finding("warning", f"{gpus}; PyTorch is not installed", "pip install torch")
    version, build = found
    if build == "the CPU":
        return Finding("warning", f"{gpus}; PyTorch {version} is built for the CPU", "install a CUDA build of PyTorch")
    try:
        available, count = run_python(_CUDA, timeout=90)
    except (ProbeError, TypeError, ValueError) as error:
        return Finding("error", f"{gpus}; PyTorch {version} cannot be imported: {error}", "pip install torch again")
    if not available:
        remedy = "install a driver as new as PyTorch's CUDA, or a PyTorch for an older CUDA"
        return Finding("error", f"{gpus}; PyTorch {version} ({build}) cannot use it", remedy)
    return Finding("ok", f"{gpus}; PyTorch sees {count}")


def ray() -> Finding:
    """Ray's version."""
    version = _version("ray")
    if version is None:
        return Finding("missing", "not installed", "pip install aworld-verl brings it (clusters and training)")
    return Finding("ok", version)


def sglang() -> Finding:
    """SGLang's version."""
    version = _version("sglang")
    if version is None:
        return Finding("missing", "not installed", "pip install sglang (serving models on GPUs)")
    return Finding("ok", version)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
