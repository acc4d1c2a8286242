"""What the stages of a run work with."""

from __future__ import annotations

from dataclasses import dataclass

from aworld_cli.environment.base import Environment
from aworld_cli.recipe.plan import Plan
from aworld_cli.run.clock import StageClock
from aworld_cli.run.directory import RunDirectory
from aworld_cli.run.progress import Listener
from aworld_cli.run.stopping import Stopping


@dataclass(frozen=True, slots=True)
class StageContext:
    """One stage's surroundings; `clock` counts its seconds."""

    plan: Plan
    directory: RunDirectory
    environment: Environment
    listener: Listener
    clock: StageClock
    stopping: Stopping
