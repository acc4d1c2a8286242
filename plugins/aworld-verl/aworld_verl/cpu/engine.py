"""verl's FSDP2 training engine, registered for the device `cpu`."""

from __future__ import annotations

import dataclasses
from typing import Any

from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead


class CpuFsdpEngine(FSDPEngineWithLMHead):  # type: ignore[misc]
    """The stock engine, but a forward-only (reference) model is not wrapped in pinned-memory offload."""

    engine_config: Any

    def _build_fsdp_module(self, module: Any) -> Any:
        if not self.engine_config.forward_only:
            return super()._build_fsdp_module(module)
        # verl gives every forward-only model CPUOffloadPolicy(pin_memory=True), and pinning
        # memory needs an accelerator. Only this step looks at the flag, so it is off just here.
        stock = self.engine_config
        self.engine_config = dataclasses.replace(stock, forward_only=False)
        try:
            return super()._build_fsdp_module(module)
        finally:
            self.engine_config = stock


def register() -> None:
    """Put the engine into verl's registry; safe to call twice."""
    if "cpu" in EngineRegistry._engines.get("language_model", {}).get("fsdp2", {}):
        return
    EngineRegistry.register(model_type="language_model", backend=["fsdp2"], device=["cpu"])(CpuFsdpEngine)
