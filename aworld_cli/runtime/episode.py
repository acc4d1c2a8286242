"""One episode from set-up to grade: the same code in evaluation, in rollouts and under a trainer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aworld_cli.agent.base import Agent, AgentContext, Attempt
from aworld_cli.environment.base import Environment
from aworld_cli.model.base import Model, ModelSession
from aworld_cli.model.session import Opening, open_session
from aworld_cli.recipe.schema import Sampling
from aworld_cli.runtime.base import Episode
from aworld_cli.tool.toolset import ToolSet
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Trajectory

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
        opened: list[ModelSession] = []

        def open_one(messages: Sequence[Message]) -> ModelSession:
            request_id = f"{episode.task.id}-{episode.sample}-{episode.seed:x}-{len(opened)}"
            opening = Opening(messages, self.tools.specs, self.sampling, episode.seed, request_id)
            opened.append(open_session(self.model, opening, self.codec))
            return opened[-1]

        attempt = Attempt()
        context = AgentContext(episode.task, open_one, self.tools.specs, self.tools.call)
        await self.agent.attempt(context, attempt)
        messages = opened[0].messages if opened else []
        return Trajectory(
            episode=episode.id,
            outcome=attempt.outcome,
            model=self.model.name,
            seed=episode.seed,
            answer=attempt.answer,
            grade=self.environment.grade(episode.task, attempt.answer, messages),
            messages=list(messages),
            sequences=[sequence for session in opened for sequence in session.sequences],
            turns=attempt.turns,
            limit=attempt.limit,
        )
