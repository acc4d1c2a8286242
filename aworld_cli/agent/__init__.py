"""Agents: how a task is attempted."""

from aworld_cli.agent.base import Agent, AgentContext, Attempt
from aworld_cli.agent.limits import LIMITS, Budget, Limits
from aworld_cli.agent.react import FINAL_PROMPT

__all__ = ["FINAL_PROMPT", "LIMITS", "Agent", "AgentContext", "Attempt", "Budget", "Limits"]
