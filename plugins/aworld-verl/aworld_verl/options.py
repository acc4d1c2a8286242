"""Options of `train: {kind: verl, ...}`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class VerlOptions(BaseModel):
    """What a recipe may say of a verl training stage; temperature and top_p come from the recipe's `sampling`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    algorithm: Literal["grpo"] = Field("grpo", description="How advantages are estimated.")
    steps: int = Field(20, ge=1, description="Training steps; each collects one batch and learns from it.")
    batch: int = Field(16, ge=1, description="Tasks a step.")
    samples: int = Field(8, ge=2, description="Episodes a task: the group that rewards are compared within.")
    mini_batch: int | None = Field(None, ge=1, description="Tasks an optimiser update; all of the batch if absent.")
    lr: float = Field(3e-4, gt=0, lt=1, description="Learning rate of AdamW, constant.")
    weight_decay: float = Field(0.01, ge=0, description="Weight decay of AdamW.")
    clip: float = Field(0.2, gt=0, lt=1, description="The ratio between new and old probability is cut at 1 +- clip.")
    kl: float = Field(0.0, ge=0, description="Weight of the KL divergence from the starting policy in the loss.")
    entropy: float = Field(0.0, ge=0, description="Weight of the entropy bonus in the loss.")
    grad_clip: float = Field(1.0, gt=0, description="Largest norm of the gradient.")
    prompt_length: int = Field(512, ge=1, description="Most tokens of a task's opening.")
    response_length: int = Field(
        1_024, ge=1, description="Most tokens after the opening, tool results included; what is longer is cut."
    )
    threads: int = Field(1, ge=1, le=256, description="CPU threads of the trainer, and of the sampler.")
    save_every: int = Field(0, ge=0, description="Steps between checkpoints to resume from; 0 saves the last only.")
    on_error: Literal["drop_group"] = Field(
        "drop_group", description="What becomes of a group in which an episode failed after its retries."
    )
    shuffle_rewards: bool = Field(
        False, description="A control: rewards are permuted within each step, so nothing can be learnt from them."
    )
    overrides: dict[str, Any] = Field(
        default_factory=dict, description="Any of verl's own keys, as dotted names, applied last."
    )

    @model_validator(mode="after")
    def _mini_batches_fill_the_batch(self) -> VerlOptions:
        if self.mini_batch is not None and self.batch % self.mini_batch:
            raise ValueError(f"batch ({self.batch}) must be a multiple of mini_batch ({self.mini_batch})")
        return self
