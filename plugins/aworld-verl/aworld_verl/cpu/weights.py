"""How weights travel from the training process to the sampler: one file a version, in memory.

The trainer writes `v<N>.safetensors` under a directory in /dev/shm and renames it into place; the
sampler reads version N when it needs it. N is verl's global step: 0 before the first update.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file


def digest(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """SHA-256 over names, types, shapes and bytes, in the order of the names."""
    sha = hashlib.sha256()
    for name, tensor in sorted(tensors, key=lambda item: item[0]):
        sha.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        sha.update(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().data)
    return sha.hexdigest()


def publish(directory: Path, version: int, tensors: dict[str, torch.Tensor]) -> None:
    """Make `version` available and forget the older ones."""
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / f".v{version}.tmp"
    save_file(tensors, temporary, metadata={"sha256": digest(tensors.items())})
    temporary.replace(_path(directory, version))
    for old in directory.glob("v*.safetensors"):
        if old != _path(directory, version):
            old.unlink(missing_ok=True)


def fetch(directory: Path, version: int) -> tuple[dict[str, torch.Tensor], str]:
    """The tensors of `version` and the digest that the trainer took; FileNotFoundError if absent."""
    with safe_open(_path(directory, version), framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no iterator)
        return tensors, file.metadata()["sha256"]


def _path(directory: Path, version: int) -> Path:
    return directory / f"v{version}.safetensors"
