"""A private Ray on this machine for one run: loopback only, small, and gone with the driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aworld_verl.prefork import JOB_ID

MARKER = "AWORLD_VERL_RUN"
#: verl reserves 3 CPUs for the worker, TransferQueue 2; none is a real limit.
NUM_CPUS = 8
#: Made up: verl counts nothing but GPUs and NPUs.
NUM_GPUS = 1
_OBJECT_STORE_BYTES = 200 << 20
# Ray's sockets lie 66 characters below its directory, and Linux allows 107.
_LONGEST_TEMP = 40


@dataclass(slots=True)
class Scratch:
    """Directories of one run, removed by the guardian when the driver has ended."""

    ray: Path
    weights: Path
    marker: str = field(default_factory=lambda: f"{MARKER}={os.getpid()}-{os.urandom(4).hex()}")

    @classmethod
    def make(cls, under: str | None) -> Scratch:
        """Make both, `ray` under the given directory if Ray's socket paths stay short enough."""
        parent = under if under and len(under) <= _LONGEST_TEMP - 12 else "/tmp"
        Path(parent).mkdir(parents=True, exist_ok=True)
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else parent
        return cls(
            Path(tempfile.mkdtemp(prefix="awv-", dir=parent)),
            Path(tempfile.mkdtemp(prefix="awv-", dir=memory)),
        )

    def remove(self) -> None:
        """Remove both directories, if they are still there."""
        for directory in (self.ray, self.weights):
            shutil.rmtree(directory, ignore_errors=True)


def prepare_environment(scratch: Scratch) -> None:
    """Set what Ray, verl and torch read at import or start; processes that Ray starts inherit it."""
    name, _, value = scratch.marker.partition("=")
    temporary = scratch.ray / "tmp"
    temporary.mkdir()
    os.environ.update(
        {
            name: value,
            # verl leaves lock files, torch a cache directory.
            "TMPDIR": str(temporary),
            "VERL_PLATFORM": "cpu",
            "VERL_LOGGING_LEVEL": os.environ.get("VERL_LOGGING_LEVEL", "WARNING"),
            "HYDRA_FULL_ERROR": "1",
            # Where one computes, torch is told the number of the settings.
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            # Arrow's allocator would start a thread at import, and the fork server needs there to be none.
            "JE_ARROW_MALLOC_CONF": "background_thread:false",
            # Something small in verl is always compiled: half a minute of C++ compiler on the first step.
            "TORCHDYNAMO_DISABLE": "1",
            "TQ_CLIENT_ZMQ_IO_THREADS": "1",
            "TQ_NUM_THREADS": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            # Otherwise Ray takes the machine's outward address even if it is given 127.0.0.1.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            # Ray 2.60 otherwise writes a token into the user's home.
            "RAY_AUTH_MODE": "disabled",
            "RAY_prestart_worker_first_driver": "0",
            "RAY_enable_metrics_collection": "0",
            "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
            "RAY_DEDUP_LOGS": "0",
        }
    )
    # Set but empty, this makes Ray refuse the made-up GPU.
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)


def start_guardian(scratch: Scratch) -> subprocess.Popen[bytes]:
    """Start the process that cleans up after us; it acts when its stdin closes."""
    script = Path(__file__).with_name("guardian.py")
    name = scratch.marker.partition("=")[0]
    environment = {k: v for k, v in os.environ.items() if k != name}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(script), scratch.marker, str(scratch.ray), str(scratch.weights)],
        stdin=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )


def start_ray(scratch: Scratch, py_executable: str | None = None) -> None:
    """Start Ray and connect to it. Must run on the main thread: Ray's processes die with it."""
    import ray

    runtime_env: dict[str, Any] = {"py_executable": py_executable} if py_executable else {}
    ray.init(
        num_cpus=NUM_CPUS,
        num_gpus=NUM_GPUS,
        object_store_memory=_OBJECT_STORE_BYTES,
        include_dashboard=False,
        _temp_dir=str(scratch.ray),
        _node_ip_address="127.0.0.1",
        runtime_env=runtime_env,
        log_to_driver=True,
    )
    if py_executable and ray.get_runtime_context().get_job_id() != JOB_ID:
        raise RuntimeError("Ray numbered its first job in an unknown way; run with --no-prefork")


def stop_ray() -> None:
    """Disconnect and stop Ray's processes."""
    import ray

    if ray.is_initialized():
        ray.shutdown()
