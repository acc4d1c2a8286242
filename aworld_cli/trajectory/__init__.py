"""What episodes leave on record, and the journal that keeps it."""

from aworld_cli.trajectory.message import Message, ToolCall
from aworld_cli.trajectory.record import EpisodeId, Grade, TokenSequence, Trajectory, Turn

__all__ = ["EpisodeId", "Grade", "Message", "TokenSequence", "ToolCall", "Trajectory", "Turn"]
