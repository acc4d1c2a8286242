"""Episodes of a recipe for verl's loop: the same agent, tools, environment, runtime and journal as everywhere else."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aworld_cli.environment.base import Environment, Task
from aworld_cli.errors import ContextOverflow
from aworld_cli.host.loader import disabled_by_environment, load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.model.base import Generation, SamplingParams
from aworld_cli.model.codec import Codec
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.loading import plan_document
from aworld_cli.recipe.schema import TrainStage
from aworld_cli.run.collect import tool_servers
from aworld_cli.run.directory import write_json
from aworld_cli.runtime.base import Episode, Runtime
from aworld_cli.runtime.episode import EpisodeRunner
from aworld_cli.seeds import derive_seed
from aworld_cli.tool.toolset import ToolSet
from aworld_cli.trajectory.journal import Journal
from aworld_cli.trajectory.record import TokenSequence, Trajectory
from aworld_verl.episodes import Generate, PromptTooLong, Sample


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """What the training process needs to build the recipe's episodes again; secrets stay references."""

    recipe: Any
    recipe_source: str
    stage: str
    directory: str
    checkpoint: str
    stage_dir: str
    logs: str
    seed: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class EpisodeFailed(Exception):
    """An episode's infrastructure failed after all its tries; its group is dropped."""


class OpeningTooLong(EpisodeFailed):
    """A task's opening is longer than the stage's `prompt_length`: the recipe must be mended."""

    mend = "recipe"


class RecipeSource:
    """An `EpisodeSource` made from a recipe."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = SourceSettings(**settings)
        self._tools: ToolSet | None = None
        self._journal: Journal | None = None

    async def start(self) -> None:
        """Build the components and start the tool servers. Raises AWorldError."""
        given = self.settings
        os.chdir(given.directory)
        registry = Registry(load_plugins(disabled=disabled_by_environment()))
        plan = plan_document(Document(given.recipe_source, given.recipe), registry)
        stage = next(stage for stage in plan.stages if stage.name == given.stage)
        assert isinstance(stage.spec, TrainStage)
        environment: Environment = plan.environment.make()
        self._tasks: dict[str, Task] = {task.id: task for task in environment.tasks(stage.spec.split, stage.spec.tasks)}
        self._runtime: Runtime = plan.runtime.make()
        self._codec = Codec(Path(given.checkpoint))
        self._tools = await ToolSet(tool_servers(plan), Path(given.logs)).__aenter__()
        write_json(Path(given.stage_dir) / "tools.json", [tool.to_json() for tool in self._tools.specs])
        self._agent = plan.agent.make()
        self._environment, self._sampling = environment, plan.recipe.sampling
        assert stage.trainer is not None
        self._options: Any = stage.trainer.config
        self._journal = Journal(Path(given.stage_dir) / "trajectories.jsonl").__enter__()

    async def close(self) -> None:
        """Stop the tool servers and close the journal."""
        if self._journal is not None:
            self._journal.__exit__(None, None, None)
        if self._tools is not None:
            await self._tools.__aexit__(None, None, None)

    async def episode(self, task_id: str, sample: int, step: int, validate: bool, generate: Generate) -> list[Sample]:
        """See `EpisodeSource.episode`."""
        assert self._tools is not None and self._journal is not None
        task = self._tasks[task_id]
        seed = derive_seed(self.settings.seed, "train", task_id, step, sample)
        runner = EpisodeRunner(
            environment=self._environment,
            agent=self._agent,
            model=LivePolicy(self._codec, generate),
            tools=self._tools,
            sampling=self._sampling,
        )
        index = step_sample(step, sample, self._options.samples)
        trajectory = await self._runtime.settle(Episode(task, index, seed), runner.run)
        trajectory.extra |= {"step": step, "sample": sample}
        self._journal.append(trajectory.to_json())
        if trajectory.outcome == "error" or trajectory.grade is None:
            raise EpisodeFailed(f"{task_id}: {(trajectory.error or {}).get('message', 'no grade')}")
        return self._samples(trajectory)

    def _samples(self, trajectory: Trajectory) -> list[Sample]:
        assert trajectory.grade is not None
        info = {
            "correct": float(bool(trajectory.grade.correct)),
            "tool_use": float(any(turn.tool_calls for turn in trajectory.turns)),
            "limit": float(trajectory.outcome == "limit"),
            "tokens": float(sum(turn.completion_tokens for turn in trajectory.turns)),
        }
        return [
            self._sample(sequence, trajectory.grade.reward, len(trajectory.turns), info)
            for sequence in trajectory.sequences
        ]

    def _sample(self, sequence: TokenSequence, reward: float, turns: int, info: dict[str, float]) -> Sample:
        if len(sequence.prompt_ids) > self._options.prompt_length:
            raise OpeningTooLong(
                f"the opening has {len(sequence.prompt_ids)} tokens, more than prompt_length "
                f"({self._options.prompt_length}); raise it"
            )
        keep = self._options.response_length
        cut = float(len(sequence.response_ids) > keep)
        assert sequence.logprobs is not None
        return Sample(
            prompt_ids=sequence.prompt_ids,
            response_ids=sequence.response_ids[:keep],
            loss_mask=sequence.loss_mask[:keep],
            logprobs=sequence.logprobs[:keep],
            reward=reward,
            turns=turns,
            info={**info, "cut": cut},
        )


def step_sample(step: int, sample: int, samples: int) -> int:
    """Return an episode's sample index across the steps of a training stage, so that its identity is its own."""
    return (step - 1) * samples + sample


class LivePolicy:
    """verl's rollout server as one more token model."""

    name = "policy"

    def __init__(self, codec: Codec, generate: Generate) -> None:
        self.codec = codec
        self._generate = generate

    async def start(self) -> None:
        """The trainer owns the policy."""

    async def close(self) -> None:
        """The trainer owns the policy."""

    async def generate(self, prompt_ids: list[int], params: SamplingParams, request_id: str) -> Generation:
        """See `TokenModel.generate`."""
        try:
            made = await self._generate(
                prompt_ids,
                max_tokens=params.max_tokens,
                temperature=params.temperature,
                top_p=params.top_p,
                seed=params.seed,
                request_id=request_id,
                stop_ids=sorted(self.codec.end_ids),
            )
        except PromptTooLong as error:
            raise ContextOverflow(str(error)) from error
        stop = made.stop_reason
        return Generation(made.ids, made.logprobs, "length" if stop == "length" else "stop")
