"""verl's rollout seams for a policy that lives in the trainer's process (`rollout.name=aworld_cpu`).

Three parts, all named by verl: the *replica* (trainer side: there is no server to start), the
*adapter* (training worker side: publishes the weights), and their registration.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
import torch.distributed
from verl.workers.rollout import base, replica

from aworld_verl.cpu import policy
from aworld_verl.cpu import weights as mailbox
from aworld_verl.cpu.constants import ROLLOUT_NAME
from aworld_verl.settings import load_settings


class LocalReplica(replica.RolloutReplica):  # type: ignore[misc]
    """No servers: sampling goes through `policy.current()` and never through Ray."""

    async def launch_servers(self) -> None:
        """Wait for the engine, so that a model that cannot be loaded fails the start."""
        local = policy.current()
        if local is None:
            raise RuntimeError("rollout 'aworld_cpu' needs the policy in the task runner's process")
        assert local.engine is not None
        self.servers: list[Any] = []
        self._server_handle = None
        self._server_address = f"local:{self.replica_rank}"

    def rollout_worker_use_gpu(self) -> bool:
        """Never."""
        return False


class PublishingRollout(base.BaseRollout):  # type: ignore[misc]
    """Hands each weight version over by file; there is no memory to release or resume."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The first code of ours that runs in the training process and can see the settings.
        torch.set_num_threads(load_settings(self.config.custom["settings"]).threads)

    async def resume(self, tags: list[str]) -> None:
        """Nothing to do: the weights never leave."""

    async def release(self) -> None:
        """Nothing to do: there is no cache to free."""

    async def update_weights(
        self,
        weights: Iterable[tuple[str, torch.Tensor]],
        wire_format: str = "named_tensors",
        global_steps: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Publish as version `global_steps`. Every rank walks the whole iterator: it runs collectives."""
        if wire_format != "named_tensors":
            raise ValueError(f"unsupported weight format {wire_format!r}")
        first = torch.distributed.get_rank() == 0
        kept = {}
        for name, tensor in weights:
            if first:
                kept[name] = tensor.detach().to("cpu", copy=True).contiguous()
        if first:
            mailbox.publish(Path(self.config.custom["weights_dir"]), int(global_steps or 0), kept)


def register() -> None:
    """Name both parts in verl's registries; safe to call twice."""
    replica.RolloutReplicaRegistry.register(ROLLOUT_NAME, lambda: LocalReplica)
    base._ROLLOUT_REGISTRY[(ROLLOUT_NAME, "async")] = f"{__name__}.PublishingRollout"
