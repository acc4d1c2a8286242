"""The built-in agent: the model thinks, calls tools, reads what they give, and answers."""

from __future__ import annotations

import asyncio
import time

from pydantic import BaseModel, ConfigDict, Field

from aworld_cli.agent.base import AgentContext, Attempt
from aworld_cli.environment.base import Task
from aworld_cli.model.base import ModelSession, Reply
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Turn

FINAL_PROMPT = "Give your final answer now."


class ReactConfig(BaseModel):
    """Options of `agent: {kind: react}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_turns: int = Field(8, ge=1, le=1_000, description="Most model calls before the last, tool-free one.")
    max_seconds: float | None = Field(
        None, gt=0, description="Seconds after which the last, tool-free reply is asked for; no bound if absent."
    )
    system: str | None = Field(None, description="A system message put before the task's own messages.")
    final_prompt: str = Field(
        FINAL_PROMPT, min_length=1, description="What asks for the answer once the turns are used up."
    )


class ReactAgent:
    """Calls tools until it answers.

    At a limit (turns, seconds, a reply cut at its length) one last reply is asked for without tools; it is graded, and
    the outcome is `limit`. The calls of one turn run side by side; their results are appended in the calls' order.
    """

    name = "react"

    def __init__(self, config: ReactConfig) -> None:
        self.config = config

    def opening(self, task: Task) -> list[Message]:
        """Return the system message, if there is one, and the task's messages."""
        system = [Message("system", self.config.system)] if self.config.system else []
        return [*system, *task.messages]

    async def attempt(self, context: AgentContext, attempt: Attempt) -> None:
        """See `Agent.attempt`."""
        started = time.monotonic()
        session = context.open_session(self.opening(context.task))
        attempt.limit = "turns"
        for turn in range(self.config.max_turns):
            if self.config.max_seconds is not None and time.monotonic() - started >= self.config.max_seconds:
                attempt.limit = "time"
                break
            reply = await self._reply(session, attempt, turn, allow_tools=True)
            if not reply.message.tool_calls:
                attempt.answer = reply.message.content
                if reply.stop != "length":
                    attempt.limit = None
                    return
                attempt.limit = "tokens"
                break
            await self._call_tools(context, session, reply, attempt.turns[-1])
        attempt.outcome = "limit"
        session.observe([Message("user", self.config.final_prompt)])
        reply = await self._reply(session, attempt, len(attempt.turns), allow_tools=False)
        attempt.answer = reply.message.content

    async def _reply(self, session: ModelSession, attempt: Attempt, turn: int, *, allow_tools: bool) -> Reply:
        started = time.monotonic()
        reply = await session.reply(turn=turn, allow_tools=allow_tools)
        seconds = time.monotonic() - started
        attempt.turns.append(Turn(seconds, 0.0, reply.prompt_tokens, reply.completion_tokens, reply.stop))
        return reply

    async def _call_tools(self, context: AgentContext, session: ModelSession, reply: Reply, turn: Turn) -> None:
        started = time.monotonic()
        calls = reply.message.tool_calls
        waiting = [asyncio.ensure_future(context.call_tool(call)) for call in calls]
        try:
            results = await asyncio.gather(*waiting)
        finally:  # the first failure ends the others too
            for call_task in waiting:
                call_task.cancel()
        turn.tool_seconds = time.monotonic() - started
        turn.tool_calls = len(calls)
        turn.tool_errors = sum(result.is_error for result in results)
        session.observe(
            [
                Message("tool", result.text, tool_call_id=call.id, name=call.name)
                for call, result in zip(calls, results, strict=True)
            ]
        )


def react(config: ReactConfig) -> ReactAgent:
    """Make the agent."""
    return ReactAgent(config)
