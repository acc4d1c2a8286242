"""The `cpu` platform of verl, loaded by verl in every process (entry-point group `verl.plugins`).

verl hides a plugin that fails to load, so nothing here may be assumed: `check_loaded` proves it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry, get_platform

ENABLED = os.environ.get("VERL_PLATFORM", "").strip().lower() == "cpu"


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0


# verl calls these on "the device module"; torch.cpu lacks most of them.
_DEVICE_MODULE = SimpleNamespace(
    __name__="aworld_verl.cpu.device",
    Event=torch.Event if hasattr(torch, "Event") else object,
    current_device=lambda: "cpu",
    current_stream=torch.cpu.current_stream,
    device_count=lambda: 1,
    empty_cache=_nothing,
    get_device_name=lambda *a: "cpu",
    get_rng_state=lambda *a: torch.get_rng_state(),
    ipc_collect=_nothing,
    is_available=lambda: True,
    manual_seed=torch.manual_seed,
    manual_seed_all=torch.manual_seed,
    max_memory_allocated=_zero,
    max_memory_reserved=_zero,
    mem_get_info=lambda *a: (1 << 33, 1 << 34),
    memory_allocated=_zero,
    memory_reserved=_zero,
    reset_peak_memory_stats=_nothing,
    set_device=_nothing,
    set_rng_state=lambda state, *a: torch.set_rng_state(state),
    stream=torch.cpu.stream,
    synchronize=_nothing,
)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):  # type: ignore[misc]
    """Plain CPU. Chosen only by `VERL_PLATFORM=cpu`, never by detection."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _DEVICE_MODULE

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        return ENABLED

    def current_device(self) -> str:
        # Not 0: torch.device(0) means the accelerator, which there is none of.
        return "cpu"

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        return None

    def synchronize(self, device_index: int | None = None) -> None:
        return None

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None:
        return None

    def empty_cache(self) -> None:
        return None

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    profiler_start = profiler_stop = _nothing

    def ray_resource_name(self) -> str:
        # verl counts only GPU and NPU; Ray is started with a made-up num_gpus.
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> None:
        return None


def _use_one_backend() -> None:
    """Make verl start torch.distributed with `cpu:gloo`.

    verl builds `cpu:gloo,<device>:<backend>`, which torch refuses when the device is the CPU.
    This runs while `verl/__init__` loads plugins, before any module takes the functions by name.
    """
    from verl.utils import distributed

    stock = distributed.initialize_global_process_group_ray

    def ray_group(timeout_second: int | None = None, backend: str | None = None) -> Any:
        return stock(timeout_second=timeout_second, backend="cpu:gloo")

    def torchrun_group(timeout_second: int = 36000) -> tuple[int, int, int]:
        stock(timeout_second=timeout_second, backend="cpu:gloo")
        return (int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))

    distributed.initialize_global_process_group_ray = ray_group
    distributed.initialize_global_process_group = torchrun_group


if ENABLED:
    _use_one_backend()


def check_loaded() -> None:
    """Raise RuntimeError unless this process runs verl on our platform with our rebinding."""
    platform = get_platform()
    if not isinstance(platform, CpuPlatform):
        raise RuntimeError(f"verl runs on platform {platform.device_name!r}, not aworld's 'cpu'")
    from verl.utils import distributed

    if distributed.initialize_global_process_group_ray.__module__ != __name__:
        raise RuntimeError("verl's process-group start was not rebound for the CPU")
