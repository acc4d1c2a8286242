"""One episode from set-up to grade: the same code in evaluation, in rollouts and under a trainer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld_cli import underway
from aworld_cli.agent.base import Agent, AgentContext, Attempt
from aworld_cli.environment.base import Environment
from aworld_cli.errors import ContextOverflow, EpisodeError
from aworld_cli.model.base import Model, ModelSession
from aworld_cli.model.session import Opening, open_session
from aworld_cli.recipe.schema import Sampling
from aworld_cli.runtime.base import Episode
from aworld_cli.tool.toolset import ToolSet
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Grade, Trajectory

if TYPE_CHECKING:
    from aworld_cli.model.codec import Codec


@dataclass(frozen=True, slots=True)
class EpisodeRunner:
    """Everything that the episodes of a stage share.

    Args:
        codec: records a chat model's replies as the tokens they have under this template.
    """

    environment: Environment
    agent: Agent
    model: Model
    tools: ToolSet
    sampling: Sampling
    codec: Codec | None = None

    async def run(self, episode: Episode) -> Trajectory:
        """Attempt and grade the episode's task. Raises EpisodeError when infrastructure fails."""
        with underway.episode(episode.task.id, episode.sample):
            return await self._run(episode)

    async def _run(self, episode: Episode) -> Trajectory:
        opened: list[ModelSession] = []

        def open_one(messages: Sequence[Message]) -> ModelSession:
            request_id = f"{episode.task.id}-{episode.sample}-{episode.seed:x}-{len(opened)}"
            opening = Opening(messages, self.tools.specs, self.sampling, episode.seed, request_id)
            opened.append(open_session(self.model, opening, self.codec))
            return opened[-1]

        attempt = Attempt()
        trajectory = Trajectory(episode.id, "error", self.model.name, episode.seed, turns=attempt.turns)
        context = AgentContext(episode.task, open_one, self.tools.specs, self.tools.call)
        try:
            try:
                await self.agent.attempt(context, attempt)
            except ContextOverflow as error:
                attempt.outcome, attempt.limit = "limit", "context"
                trajectory.extra["context"] = str(error)
            messages = opened[0].messages if opened else []
            with underway.phase("its grade"):
                trajectory.grade = checked(self.environment.grade(episode.task, attempt.answer, messages))
        except EpisodeError as error:
            error.trajectory = trajectory
            raise
        finally:
            trajectory.messages = list(opened[0].messages) if opened else []
            trajectory.sequences = [sequence for session in opened for sequence in session.sequences]
        trajectory.outcome, trajectory.limit = attempt.outcome, attempt.limit
        trajectory.answer = attempt.answer
        return trajectory


def checked(grade: Grade) -> Grade:
    """Return the grade. Raises EpisodeError when its reward is not a number in [0, 1]."""
    if not 0.0 <= grade.reward <= 1.0:  # false for NaN too
        text = f"the environment gave the reward {grade.reward}, which is not in [0, 1]"
        raise EpisodeError("environment", text, retryable=False)
    return grade
