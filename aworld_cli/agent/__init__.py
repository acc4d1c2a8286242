"""Agents: how a task is attempted."""

from aworld_cli.agent.base import Agent, AgentContext, Attempt

__all__ = ["Agent", "AgentContext", "Attempt"]
