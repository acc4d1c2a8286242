"""The trainer `sft`: supervised fine-tuning on kept trajectories, in the run's worker process."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from aworld_cli.errors import AWorldError, MachineError
from aworld_cli.recipe.plan import Plan
from aworld_cli.resources import Resources
from aworld_cli.trainer import StageProgress, TrainerContext, TrainerResult
from aworld_local.client import WorkerClient, WorkerDied, WorkerFailed, worker_resources


class SftConfig(BaseModel):
    """Options of a `sft` stage."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: int = Field(300, ge=1, description="Optimiser steps.")
    batch: int = Field(64, ge=1, description="Sequences a step.")
    lr: float = Field(1e-3, gt=0, lt=1, description="Highest learning rate of AdamW.")
    final_lr: float = Field(0.0, ge=0, lt=1, description="Learning rate at the last step; a cosine leads down to it.")
    warmup: int = Field(20, ge=0, description="Steps over which the learning rate rises to `lr`.")
    weight_decay: float = Field(0.0, ge=0, description="Weight decay of AdamW.")
    beta2: float = Field(0.98, gt=0, lt=1, description="AdamW's second moment decay.")
    grad_clip: float = Field(1.0, gt=0, description="Largest norm of the gradient.")
    threads: int = Field(
        1, ge=1, le=256, description="CPU threads; more than one is far slower when another process uses the cores."
    )


class SftTrainer:
    """Learns the tokens whose loss mask is 1, exactly as they are on record."""

    name = "sft"

    def __init__(self, config: SftConfig) -> None:
        self.config = config

    def resources(self) -> Resources:
        """The run's worker, which it shares with the model `local`."""
        return worker_resources(self.config.threads)

    def check(self, plan: Plan, tasks: int) -> dict[str, str]:
        """See `Trainer.check`."""
        return {}

    def preview(self, plan: Plan) -> dict[str, Any]:
        """See `Trainer.preview`."""
        return {}

    async def prepare(self, context: TrainerContext) -> None:
        """The worker is there as soon as it is needed."""

    async def train(self, context: TrainerContext) -> TrainerResult:
        """See `Trainer.train`."""
        examples = [
            (
                sequence["prompt_ids"] + sequence["response_ids"],
                [0] * len(sequence["prompt_ids"]) + sequence["loss_mask"],
            )
            for record in context.records()
            for sequence in record["sequences"]
            if any(sequence["loss_mask"])
        ]
        if not examples:
            raise AWorldError(
                f"{context.stage}: no trajectory is kept that holds tokens; see `keep`, and whether the stage that it "
                "learns from had a policy with tokens"
            )
        worker = WorkerClient.shared(context.shared, context.logs.parent)
        settings: dict[str, Any] = {**self.config.model_dump(), "seed": context.seed}

        def progress(value: tuple[int, float]) -> None:
            step, loss = value
            context.report(StageProgress(step, self.config.steps, {"loss": loss}))

        worker.opened = None  # the worker lets its engine go, to have the memory and the cores for training
        try:
            metrics = await worker.ask(
                "fine_tune",
                progress=progress,
                path=str(context.checkpoint),
                output=str(context.output),
                examples=examples,
                settings=settings,
            )
        except (WorkerDied, WorkerFailed) as error:
            raise MachineError(f"{context.stage}: {error}; see {worker.log}") from error
        return TrainerResult(self.config.steps, {"sequences": float(len(examples)), **metrics})


def sft(config: SftConfig) -> SftTrainer:
    """Make the trainer."""
    return SftTrainer(config)
