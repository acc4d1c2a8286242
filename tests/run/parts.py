"""Components whose outcomes a test decides, and runs of them in this process: no tools, no processes, no waiting."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from aworld_cli.environment.base import Task
from aworld_cli.errors import EpisodeError
from aworld_cli.host.component import Component
from aworld_cli.host.loader import Plugin, load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.model.base import ChatRequest, ModelContext, Reply
from aworld_cli.recipe.loading import load_plan
from aworld_cli.recipe.plan import Plan
from aworld_cli.run.directory import RunDirectory
from aworld_cli.run.execute import Run
from aworld_cli.run.stopping import Stopping
from aworld_cli.run.summary import StageSummary
from aworld_cli.trainer.base import StageProgress, TrainerContext, TrainerResult
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Grade

#: What may become of an episode. A timeout is apart: with a bound that is short, what is well would meet it too when
#: the machine is busy.
ANSWERS = ("right", "wrong", "ungraded", "cut right", "cut wrong")
FAILURES = ("error", "bug")
TIMEOUT = "timeout"
RECIPE = """\
aworld: 1
name: parts
model: {{kind: parts}}
environment: {{kind: parts, tasks: {tasks}}}
runtime: {{kind: local, concurrency: {concurrency}, attempts: 2, retry_pause: 0, episode_timeout: {timeout}}}
stages:
  - rollout: {{split: train, samples: {samples}}}
{sft}  - eval: {{split: test, samples: {samples}, k: [{k}]}}
"""
SFT = '  - sft: {kind: parts, from: rollout, keep: "grade.correct"}\n'


class Nothing(BaseModel):
    """No options."""


class Size(BaseModel):
    """How many tasks a split has."""

    tasks: int


@dataclass
class World:
    """What happens in a test: outcomes by (split, task), each episode's tries, and who was asked."""

    outcomes: Mapping[tuple[str, int], str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    heals: bool = False  # what failed once works the next time
    failed: set[str] = field(default_factory=set)


WORLD = World()


class PartsEnvironment:
    name = "parts"

    def __init__(self, size: Size) -> None:
        self.size = size

    def splits(self) -> Sequence[str]:
        return ("train", "test")

    def tasks(self, split: str, limit: int | None) -> list[Task]:
        return [Task(f"{split} {n}", (Message("user", f"{split} {n}"),)) for n in range(self.size.tasks)][:limit]

    def grade(self, task: Task, answer: str | None, messages: Sequence[Message]) -> Grade:
        if answer == "ungraded":
            return Grade(0.5)
        return Grade(float(answer == "right"), answer == "right")

    def corpus(self) -> Sequence[str]:
        return ()


class PartsModel:
    """Does as `WORLD` says; its weights are a directory that it makes."""

    name = "parts"

    def __init__(self, context: ModelContext) -> None:
        self.context = context

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def check(self) -> None: ...

    async def ensure_checkpoint(self) -> Path:
        return self.context.checkpoint or self.context.run_dir

    async def complete(self, request: ChatRequest) -> Reply:
        said = request.messages[0].content
        split, number = said.split()
        outcome = WORLD.outcomes[split, int(number)]
        first = len(request.messages) == 1
        if first:
            WORLD.asked.append(said)
        await asyncio.sleep(0)
        if outcome in (*FAILURES, TIMEOUT):
            if WORLD.heals and said in WORLD.failed:
                return Reply(Message("assistant", "right"), "stop", 2, 1)
            WORLD.failed.add(said)
            if outcome == TIMEOUT:
                await asyncio.sleep(60)
            raise ValueError("a bug") if outcome == "bug" else EpisodeError("model", "down")
        if outcome.startswith("cut") and first:
            return Reply(Message("assistant", "I th"), "length", 2, 1)
        return Reply(Message("assistant", outcome.removeprefix("cut ")), "stop", 2, 1)


class PartsTrainer:
    """Leaves a checkpoint that is the hash of what it learnt from."""

    name = "parts"

    def check(self, plan: Plan, tasks: int) -> dict[str, str]:
        return {}

    def preview(self, plan: Plan) -> dict[str, Any]:
        return {}

    async def prepare(self, context: TrainerContext) -> None: ...

    async def train(self, context: TrainerContext) -> TrainerResult:
        learnt = [(record["episode"], record["answer"]) for record in context.records()]
        context.output.mkdir(parents=True, exist_ok=True)
        (context.output / "weights").write_text(hashlib.sha256(json.dumps(learnt).encode()).hexdigest())
        return TrainerResult(len(learnt))


class Silence:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def run_started(self, run: Any) -> None: ...

    def stage_started(self, name: str, kind: str, total: int | None) -> None: ...

    def stage_progress(self, progress: StageProgress) -> None: ...

    def trajectory_finished(self, stage: str, record: Mapping[str, Any]) -> None: ...

    def stage_finished(self, summary: StageSummary, *, resumed: bool) -> None: ...

    def run_finished(self, status: str, summary: Mapping[str, Any]) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)


def environment(size: Size) -> PartsEnvironment:
    return PartsEnvironment(size)


def model(options: Nothing, context: ModelContext) -> PartsModel:
    return PartsModel(context)


def trainer(options: Nothing) -> PartsTrainer:
    return PartsTrainer()


def registry() -> Registry:
    """Return the built-in components and ours."""
    ours = (
        Component("model", "parts", "parts", f"{__name__}:model", f"{__name__}:Nothing"),
        Component("environment", "parts", "parts", f"{__name__}:environment", f"{__name__}:Size"),
        Component("trainer", "parts", "parts", f"{__name__}:trainer", f"{__name__}:Nothing"),
    )
    return Registry([*load_plugins(builtin_only=True), Plugin("parts", "parts", "1", "ok", components=ours)])


def plan(
    folder: Path, registry: Registry, *, tasks: int, samples: int = 1, sft: bool = False, timeout: float = 600
) -> Plan:
    """Return the plan of a recipe that is written to `folder`."""
    k = "1" if samples == 1 else f"1, {samples}"
    text = RECIPE.format(tasks=tasks, samples=samples, k=k, concurrency=3, timeout=timeout, sft=SFT if sft else "")
    path = folder / "recipe.yaml"
    path.write_text(text)
    return load_plan(path, registry)


def execute(plan: Plan, path: Path, *, max_errors: int = 1_000, stopping: Stopping | None = None) -> list[StageSummary]:
    """Run, or resume, what lies in `path`."""
    path.mkdir(exist_ok=True)
    return asyncio.run(Run(plan, RunDirectory(path), Silence(), max_errors=max_errors, stopping=stopping).execute())


def results(summaries: Sequence[StageSummary]) -> list[Any]:
    """Return all that a resumed run must share with one that was not interrupted."""
    return [(s.name, s.kind, s.counts, s.metrics, s.totals, s.samples, s.checkpoint) for s in summaries]
