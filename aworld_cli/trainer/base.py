"""The interface of trainers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from aworld_cli.environment.base import Task

if TYPE_CHECKING:
    from aworld_cli.recipe.plan import Plan

Report = Callable[["StageProgress"], None]


@dataclass(frozen=True, slots=True)
class StageProgress:
    """How far a stage is; `done` of `total` steps or episodes, and figures to show beside it."""

    done: int
    total: int
    figures: dict[str, float] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class TrainerContext:
    """What a trainer is given.

    Args:
        plan: the whole recipe, for trainers that run episodes themselves.
        stage: the stage's name.
        stage_dir: where its journal and intermediate checkpoints go.
        checkpoint: the Hugging Face directory to start from.
        output: the Hugging Face directory to leave; it must appear whole or not at all.
        seed: the stage's seed.
        logs: the run's folder for logs.
        records: reads the kept trajectories (`sft`), as journal records.
        tasks: the tasks to train on (`train`).
        report: shows progress.
        shared: what stages of one run share; values with an async `close` are closed at its end.
    """

    plan: Plan
    stage: str
    stage_dir: Path
    checkpoint: Path
    output: Path
    seed: int
    logs: Path
    records: Callable[[], Iterable[dict[str, Any]]]
    tasks: Callable[[], list[Task]]
    report: Report
    shared: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TrainerResult:
    """What a trainer did: its steps, figures for the summary, and what became of the episodes that it ran.

    `counts` holds selected, correct, wrong, limit, error and missing, or nothing when it ran no episodes.
    """

    steps: int
    metrics: dict[str, float] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


class Trainer(Protocol):
    """Turns trajectories or tasks into a checkpoint."""

    name: str

    def check(self, plan: Plan, tasks: int) -> dict[str, str]:
        """Return what is wrong with an option that its model alone cannot see, by the option's name.

        Args:
            tasks: how many the stage trains on; 0 for one that learns from records.
        """
        ...

    def preview(self, plan: Plan) -> dict[str, Any]:
        """Return what `--dry-run` shows beside the options; may be empty."""
        ...

    async def prepare(self, context: TrainerContext) -> None:
        """Start early what takes long and needs no checkpoint; may do nothing.

        It runs beside earlier stages: `checkpoint` is not there yet, and nothing may be reported. What it starts
        ends with the run: an object with an async `close` in `context.shared` sees to it.
        """

    async def train(self, context: TrainerContext) -> TrainerResult:
        """Train, and leave the new checkpoint at `context.output`. Raises MachineError, AWorldError."""
        ...


@runtime_checkable
class HasConfiguration(Protocol):
    """A trainer that hands a configuration to a library; `--dry-run --json` shows it whole."""

    def configuration(self, plan: Plan) -> dict[str, Any]:
        """Return it as plain values, checked as far as can be without starting. Raises RecipeError, MachineError."""
        ...
