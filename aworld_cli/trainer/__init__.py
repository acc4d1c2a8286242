"""Trainers: what turns trajectories, or tasks, into a better checkpoint."""

from aworld_cli.trainer.base import StageProgress, Trainer, TrainerContext, TrainerResult

__all__ = ["StageProgress", "Trainer", "TrainerContext", "TrainerResult"]
