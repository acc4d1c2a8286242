"""The model `arithmetic-teacher`: a script in a model's place, for demonstrations that a policy can learn from."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from aworld_arithmetic.environment import ARGUMENT, TOOL, last_number
from aworld_arithmetic.expression import compute, find_expression
from aworld_cli.errors import EpisodeError
from aworld_cli.model import ChatRequest, ModelContext, Reply
from aworld_cli.resources import Resources
from aworld_cli.seeds import derive_seed
from aworld_cli.trajectory import Message, ToolCall


class TeacherConfig(BaseModel):
    """Options of `model: {kind: arithmetic-teacher}`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tool_share: float = Field(0.5, ge=0, le=1, description="Share of the episodes in which the calculator is called.")
    accuracy: float = Field(1.0, ge=0, le=1, description="Share of the answers without the calculator that are right.")


class ArithmeticTeacher:
    """Calls the calculator in some episodes and answers out of its head in the others.

    A pure function of the request: on the first turn the seed decides, later the conversation does (a tool's result
    is passed on; where there is none, the answer is given at once).
    """

    name = "arithmetic-teacher"

    def __init__(self, config: TeacherConfig) -> None:
        self.config = config

    def resources(self) -> Resources:
        """Nothing beside this process."""
        return Resources()

    async def start(self) -> None:
        """Nothing to get ready."""

    async def close(self) -> None:
        """Nothing to free."""

    async def complete(self, request: ChatRequest) -> Reply:
        """See `ChatModel.complete`. Raises EpisodeError when no user message holds an expression."""
        expression, later = _read(request.messages)
        results = [message.content for message in later if message.role == "tool"]
        if results and (number := last_number(results[-1])) is not None:
            return Reply(Message("assistant", number), "stop")
        offered = any(tool.name == TOOL for tool in request.tools)
        if offered and not results and _share(request.params.seed, "tool") < self.config.tool_share:
            call = ToolCall(id="call_0_0", name=TOOL, arguments={ARGUMENT: expression})
            return Reply(Message("assistant", "", tool_calls=(call,)), "tool_calls")
        return Reply(Message("assistant", str(self._recall(expression, request.params.seed))), "stop")

    def _recall(self, expression: str, seed: int) -> int:
        """Return the value of the expression, or a number near it as often as `accuracy` says."""
        value = compute(expression)
        wrong = _share(seed, "accuracy") >= self.config.accuracy
        return value + 1 + derive_seed(seed, "slip") % 9 if wrong else value


def _read(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Return the last expression that a user asks for, and the messages after it."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role == "user" and (found := find_expression(messages[at].content)):
            return found, messages[at + 1 :]
    raise EpisodeError("model", "arithmetic-teacher: no user message asks for an expression", retryable=False)


def _share(seed: int, name: str) -> float:
    """Return a number in [0, 1) that depends on the seed and the name alone."""
    return derive_seed(seed, name) / 2**63


def arithmetic_teacher(config: TeacherConfig, context: ModelContext) -> ArithmeticTeacher:
    """Make the teacher; it needs nothing of the run."""
    return ArithmeticTeacher(config)
