"""What a training stage would start and use, and verl's configuration of it; told without starting anything."""

from __future__ import annotations

from typing import Any

from aworld_cli.errors import MachineError, RecipeError
from aworld_cli.resources import ProcessPlan, Resources
from aworld_verl.process import COMMAND
from aworld_verl.ray_host import NUM_CPUS, NUM_GPUS


def resources(threads: int) -> Resources:
    """Return what a stage on this machine's CPU takes, as it was seen with verl 0.9.1 and Ray 2.60."""
    ray = "gcs_server, raylet, monitor, dashboard, log_monitor, DashboardAgent, RuntimeEnvAgent"
    return Resources(
        processes=(
            ProcessPlan("verl driver", COMMAND, threads=threads, note="started with the run; trainer loop, sampler"),
            ProcessPlan("verl guardian", note="cleans up when the driver is killed"),
            ProcessPlan("verl fork server", note="Ray's workers are forked from it"),
            ProcessPlan("Ray services", count=7, note=ray),
            ProcessPlan("Ray workers of verl", count=3, note="TransferQueueController, SimpleStorageUnit, NoRouter"),
            ProcessPlan("Ray worker that trains", threads=threads, note="WorkerDict: FSDP2 on one rank"),
            ProcessPlan("Ray worker clients", count=5, note="one small process a worker, and one spare worker"),
        ),
        tool_servers=True,
        ports=(
            "Ray on 127.0.0.1, any free ports, and 52365 (its dashboard's agent)",
            "torch.distributed on all interfaces, one free port",
        ),
        ray={"CPU (logical)": NUM_CPUS, "GPU (made up, none is used)": NUM_GPUS},
        unknown=(
            "verl's own checks of its configuration, which need verl loaded",
            "memory of verl: up to 3 GB was seen for a tiny policy, all processes together",
        ),
    )


def compose(overrides: list[str]) -> dict[str, Any]:
    """Return the whole configuration that verl would get, as plain values.

    Raises:
        RecipeError: verl has no such key.
        MachineError: verl is not installed.
    """
    from aworld_verl.config import compose_config
    from aworld_verl.settings import SettingsError

    try:
        config = compose_config(overrides)
    except ImportError as error:
        raise MachineError(f"verl's configuration cannot be made: {error}; pip install aworld-verl") from error
    except SettingsError as error:
        kind = MachineError if "not installed" in str(error) else RecipeError
        raise kind(str(error)) from error
    from omegaconf import OmegaConf

    plain = OmegaConf.to_container(config, resolve=False)
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}
