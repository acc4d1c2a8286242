"""Reporters: what hears of a run as it goes (trackers, exporters)."""

from aworld_cli.reporter.base import Reporter, RunInfo, StageInfo

__all__ = ["Reporter", "RunInfo", "StageInfo"]
