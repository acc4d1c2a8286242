"""Trainers: what turns trajectories, or tasks, into a better checkpoint."""

from aworld_cli.trainer.base import HasConfiguration, StageProgress, Trainer, TrainerContext, TrainerResult

__all__ = ["HasConfiguration", "StageProgress", "Trainer", "TrainerContext", "TrainerResult"]
