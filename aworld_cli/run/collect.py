"""A stage that collects: episodes go out to the runtime, trajectories come back into the journal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from aworld_cli.environment.base import Task
from aworld_cli.host.registry import describe
from aworld_cli.model.base import HasCheckpoint, Model
from aworld_cli.model.codec import Codec
from aworld_cli.recipe.plan import Plan, PlannedStage
from aworld_cli.recipe.schema import CollectStage, EvalStage
from aworld_cli.report.metrics import Tally
from aworld_cli.run.check import select_tasks, tool_server
from aworld_cli.run.context import StageContext
from aworld_cli.run.directory import write_json
from aworld_cli.run.summary import StageSummary
from aworld_cli.run.tracking import Tracker
from aworld_cli.runtime.base import Episode, Runtime
from aworld_cli.runtime.episode import EpisodeRunner
from aworld_cli.seeds import derive_seed
from aworld_cli.tool.base import StdioServer
from aworld_cli.tool.toolset import ToolSet
from aworld_cli.trajectory.journal import Journal, read_journal


async def collect(
    context: StageContext, stage: PlannedStage, spec: CollectStage, model: Model, policy: Model | None
) -> StageSummary:
    """Run the stage's episodes that have no settled record yet, and summarise all of them.

    Args:
        policy: the recipe's own model, when another one (a teacher) acts in this stage: the teacher's text is then
            recorded as the tokens that it has under the policy's template.
    """
    tasks = select_tasks(context.plan, stage, context.environment)
    with context.plan.environment.registered.blamed(f"giving the tasks of its split {spec.split!r} a hash"):
        tally = Tally([(task.id, task.hash) for task in tasks], spec.samples)
    path = context.directory.stage(stage.directory) / "trajectories.jsonl"
    for record in read_journal(path):
        tally.add(record)
    settled = tally.settled()
    total = len(tasks) * spec.samples
    context.listener.stage_started(stage.name, stage.key, total)
    if len(settled) < total:
        await _run_episodes(context, stage, spec, model, policy, tasks, tally, settled)
    ks = spec.k if isinstance(spec, EvalStage) else (1,)
    return StageSummary(
        name=stage.name,
        kind=stage.key,
        seconds=0.0,
        counts=tally.counts(),
        metrics={key: value.to_json() for key, value in tally.metrics(ks).items()},
        totals=dict(tally.totals()),
        samples=spec.samples,
        model=model.name,
    )


async def _run_episodes(
    context: StageContext,
    stage: PlannedStage,
    spec: CollectStage,
    model: Model,
    policy: Model | None,
    tasks: Sequence[Task],
    tally: Tally,
    settled: set[tuple[str, str, int]],
) -> None:
    codec = await policy_codec(policy)
    runtime: Runtime = context.plan.runtime.make()
    agent = context.plan.agent.make()
    chosen = stage.model or context.plan.model
    stage_seed = derive_seed(context.plan.recipe.seed, "stage", stage.name)
    total = len(tasks) * spec.samples
    progress = Tracker(context, total, len(settled))
    try:
        async with ToolSet(tool_servers(context.plan), context.directory.logs) as tools:
            folder = context.directory.stage(stage.directory)
            write_json(folder / "tools.json", [tool.to_json() for tool in tools.specs])
            with chosen.registered.blamed("starting"):
                await model.start()
            runner = EpisodeRunner(
                environment=context.environment,
                agent=agent,
                model=model,
                tools=tools,
                sampling=spec.sampling or context.plan.recipe.sampling,
                codec=codec,
            )
            pending = pending_episodes(tasks, spec.samples, stage_seed, settled)
            episodes = context.stopping.until_asked(pending)
            with Journal(context.directory.stage(stage.directory) / "trajectories.jsonl") as journal:
                async with progress.watching(), contextlib.aclosing(runtime.run(episodes, runner.run)) as ended:
                    async for trajectory in ended:
                        record = trajectory.to_json()
                        journal.append(record)
                        tally.add(record)
                        progress.advance(record)
                        context.listener.trajectory_finished(stage.name, record)
            if progress.done < total:
                context.stopping.check()
    finally:
        try:
            await model.close()
        except (Exception, SystemExit) as error:  # what is on record is whole
            context.listener.note(f"warning: {chosen.registered.title} did not close: {describe(error)}")


def pending_episodes(
    tasks: Sequence[Task], samples: int, seed: int, settled: set[tuple[str, str, int]]
) -> Iterator[Episode]:
    """Yield the episodes that are not settled; an episode's seed depends on the stage, the task and the sample."""
    for task in tasks:
        for sample in range(samples):
            if (task.id, task.hash, sample) not in settled:
                yield Episode(task, sample, derive_seed(seed, task.id, sample))


async def policy_codec(policy: Model | None) -> Codec | None:
    """Return the template and tokens of a policy that has a checkpoint."""
    return Codec(await policy.ensure_checkpoint()) if isinstance(policy, HasCheckpoint) else None


def tool_servers(plan: Plan) -> list[StdioServer]:
    """Return the recipe's tool servers."""
    return [tool_server(tool) for tool in plan.tools]
