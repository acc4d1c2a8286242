"""The built-in agent: the model thinks, calls tools, reads what they give, and answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from pydantic import Field

from aworld_cli.agent.base import AgentContext, Attempt
from aworld_cli.agent.limits import Budget, Limits
from aworld_cli.environment.base import Task
from aworld_cli.model.base import ModelSession, Reply
from aworld_cli.resources import Resources
from aworld_cli.tool.base import ToolResult
from aworld_cli.trajectory.message import Message, ToolCall
from aworld_cli.trajectory.record import Turn

FINAL_PROMPT = "Give your final answer now."


class ReactConfig(Limits):
    """Options of `agent: {kind: react}`."""

    system: str | None = Field(None, description="A system message put before the task's own messages.")
    final_prompt: str = Field(FINAL_PROMPT, min_length=1, description="What asks for the answer once a limit is met.")


class ReactAgent:
    """Calls tools until it answers.

    At a limit (see `LIMITS`) one last reply is asked for without tools; it is graded, and the outcome is `limit`. The
    calls of one turn run side by side; their results are appended in the calls' order.
    """

    name = "react"

    def __init__(self, config: ReactConfig) -> None:
        self.config = config

    def resources(self) -> Resources:
        """Nothing beside the process of the episodes."""
        return Resources(limits=tuple(Limits.model_fields))

    def opening(self, task: Task) -> list[Message]:
        """Return the system message, if there is one, and the task's messages."""
        system = [Message("system", self.config.system)] if self.config.system else []
        return [*system, *task.messages]

    async def attempt(self, context: AgentContext, attempt: Attempt) -> None:
        """See `Agent.attempt`."""
        budget = Budget(self.config, {tool.name for tool in context.tools})
        session = context.open_session(self.opening(context.task))
        attempt.limit = await self._work(context, session, attempt, budget)
        if attempt.limit is None:
            return
        attempt.outcome = "limit"
        session.observe([Message("user", self.config.final_prompt)])
        reply = await self._reply(session, attempt, allow_tools=False)
        attempt.answer = reply.message.content

    async def _work(self, context: AgentContext, session: ModelSession, attempt: Attempt, budget: Budget) -> str | None:
        """Take turns until the model answers; return the limit that was met before it did."""
        while (limit := budget.reached()) is None:
            reply = await self._reply_in_time(session, attempt, budget)
            if reply is None:
                return "time"
            budget.spend(reply)
            calls = reply.message.tool_calls
            if reply.message.content or not calls:
                attempt.answer = reply.message.content
            if not calls:
                if reply.stop != "length":
                    return None
                return "tokens" if budget.tokens_left == 0 else "length"
            allowed = budget.allow(calls)
            results = await self._call_tools(context, calls[:allowed], attempt.turns[-1], budget)
            results += [self._refusal()] * (len(calls) - allowed)
            session.observe(
                [
                    Message("tool", result.text, tool_call_id=call.id, name=call.name)
                    for call, result in zip(calls, results, strict=True)
                ]
            )
        return limit

    async def _reply_in_time(self, session: ModelSession, attempt: Attempt, budget: Budget) -> Reply | None:
        """Have the model reply; None when the time is up before it has."""
        started = time.monotonic()
        scope = asyncio.timeout(budget.seconds_left)
        try:
            async with scope:
                return await self._reply(session, attempt, allow_tools=True, max_tokens=budget.tokens_left)
        except TimeoutError:
            if not scope.expired():  # the model's own
                raise
            attempt.turns.append(Turn(time.monotonic() - started, stop="abort"))
            return None

    async def _reply(
        self, session: ModelSession, attempt: Attempt, *, allow_tools: bool, max_tokens: int | None = None
    ) -> Reply:
        started = time.monotonic()
        reply = await session.reply(turn=len(attempt.turns), allow_tools=allow_tools, max_tokens=max_tokens)
        seconds = time.monotonic() - started
        attempt.turns.append(Turn(seconds, 0.0, reply.prompt_tokens, reply.completion_tokens, reply.stop))
        return reply

    async def _call_tools(
        self, context: AgentContext, calls: Sequence[ToolCall], turn: Turn, budget: Budget
    ) -> list[ToolResult]:
        """Make calls side by side; those that are not answered when the time is up are errors to the model."""
        if not calls:
            return []
        started = time.monotonic()
        waiting = [asyncio.ensure_future(context.call_tool(call)) for call in calls]
        try:
            await asyncio.wait(waiting, timeout=budget.seconds_left, return_when=asyncio.FIRST_EXCEPTION)
            for call_task in waiting:
                if call_task.done():
                    call_task.result()
            late = ToolResult(f"cancelled: the episode's {self.config.max_seconds or 0:g} s are over", is_error=True)
            results = [call_task.result() if call_task.done() else late for call_task in waiting]
        finally:  # the first failure ends the others too
            for call_task in waiting:
                call_task.add_done_callback(_look_at)
                call_task.cancel()
        turn.tool_seconds = time.monotonic() - started
        turn.tool_calls = len(calls)
        turn.tool_errors = sum(result.is_error for result in results)
        return results

    def _refusal(self) -> ToolResult:
        return ToolResult(f"not made: no more than {self.config.max_tool_calls} tool calls are allowed", is_error=True)


def _look_at(ended: asyncio.Future[ToolResult]) -> None:
    """Retrieve what a call ended with, so that asyncio does not complain that nobody did."""
    if not ended.cancelled():
        ended.exception()


def react(config: ReactConfig) -> ReactAgent:
    """Make the agent."""
    return ReactAgent(config)
