"""Runtimes: where and how many at a time episodes run."""

from aworld_cli.runtime.base import Episode, Execute, Runtime

__all__ = ["Episode", "Execute", "Runtime"]
