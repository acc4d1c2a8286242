"""The strict model of a recipe. Component options are checked against their plugin's model (see `loading`)."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator


class Strict(BaseModel):
    """Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ComponentChoice(BaseModel):
    """`{kind: NAME, option: value, ...}`: which component, and its options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str = Field(min_length=1, description="The component's name, as `aworld plugins` lists it.")

    @property
    def options(self) -> dict[str, Any]:
        """What stands beside `kind`."""
        return dict(self.model_extra or {})


class Sampling(Strict):
    """How a policy's replies are sampled."""

    temperature: float = Field(1.0, ge=0, le=10, description="Softmax temperature; 0 takes the likeliest token.")
    top_p: float = Field(1.0, gt=0, le=1, description="Nucleus mass that tokens are sampled from.")
    max_tokens: int = Field(512, ge=1, description="Most tokens of one reply.")


class Stage(Strict):
    """What all stages share."""

    name: str | None = Field(
        None, pattern=r"^[a-z0-9][a-z0-9_-]*$", description="What tables and `from:` call this stage."
    )


class CollectStage(Stage):
    """A stage that collects episodes."""

    split: str = Field(description="Which of the environment's splits the tasks come from.")
    tasks: int | None = Field(None, ge=1, description="How many tasks, the first ones of the split; all if absent.")
    samples: int = Field(1, ge=1, description="Episodes a task.")
    model: ComponentChoice | None = Field(None, description="Another model than the recipe's, for this stage.")
    sampling: Sampling | None = Field(None, description="Other sampling than the recipe's, for this stage.")


class RolloutStage(CollectStage):
    """Collect trajectories to learn from."""


class EvalStage(CollectStage):
    """Measure a model on tasks."""

    k: tuple[int, ...] = Field((1,), min_length=1, description="The k of each pass@k that is reported.")

    @model_validator(mode="after")
    def _k_within_samples(self) -> EvalStage:
        if min(self.k) < 1 or max(self.k) > self.samples:
            raise ValueError(f"every k must lie between 1 and samples ({self.samples}), got {list(self.k)}")
        return self


class TrainerStage(Stage):
    """A stage that leaves a checkpoint; options beyond these belong to the trainer that `kind` names."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @property
    def options(self) -> dict[str, Any]:
        """The trainer's own options."""
        return dict(self.model_extra or {})


class SftStage(TrainerStage):
    """Fine-tune on kept trajectories, on their recorded tokens and loss masks."""

    kind: str = Field("sft", description="The trainer component.")
    source: str = Field(alias="from", description="The earlier stage whose trajectories are used.")
    keep: str = Field("grade.correct", description="Which trajectories: an expression over their fields.")


class TrainStage(TrainerStage):
    """Train the policy by reinforcement learning on a split's tasks."""

    kind: str = Field(description="The trainer component.")
    split: str = Field("train", description="Which of the environment's splits the tasks come from.")
    tasks: int | None = Field(None, ge=1, description="How many tasks, the first ones of the split; all if absent.")


AnyStage = RolloutStage | EvalStage | SftStage | TrainStage
STAGES: dict[str, type[Stage]] = {
    "rollout": RolloutStage,
    "sft": SftStage,
    "train": TrainStage,
    "eval": EvalStage,
}


#: Components that a recipe has without naming them, and that options alone are for.
DEFAULT_KINDS: Final[dict[str, str]] = {"agent": "react", "runtime": "local"}


class Recipe(Strict):
    """One YAML file: what to run."""

    aworld: Literal[1] = Field(description="The version of the recipe language.")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]*$", description="Names the run directory.")
    seed: int = Field(0, ge=0, lt=2**31, description="Everything random derives from it.")
    model: ComponentChoice = Field(description="The policy.")
    agent: ComponentChoice = Field(
        default_factory=lambda: ComponentChoice(kind=DEFAULT_KINDS["agent"]), description="How a task is attempted."
    )
    tools: tuple[ComponentChoice, ...] = Field((), description="What the agent may call.")
    environment: ComponentChoice = Field(description="Where tasks and grades come from.")
    runtime: ComponentChoice = Field(
        default_factory=lambda: ComponentChoice(kind=DEFAULT_KINDS["runtime"]), description="Where episodes run."
    )
    reporters: tuple[ComponentChoice, ...] = Field((), description="What hears of the run: trackers, exporters.")
    sampling: Sampling = Field(default=Sampling(), description="How replies are sampled.")
    stages: tuple[dict[str, Any], ...] = Field(min_length=1, description="What is done, in order.")

    @field_validator(*DEFAULT_KINDS, mode="before")
    @classmethod
    def _default_kind(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, dict) and "kind" not in value:
            return {"kind": DEFAULT_KINDS[str(info.field_name)], **value}
        return value
