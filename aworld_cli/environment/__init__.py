"""Environments: where tasks come from, and how answers are graded."""

from aworld_cli.environment.base import Environment, Task

__all__ = ["Environment", "Task"]
