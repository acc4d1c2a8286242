"""Runs a plan's stages in order, skipping what an earlier process of the same run has finished."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aworld_cli.environment.base import Environment
from aworld_cli.errors import AWorldError, PluginError, RecipeError, Stopped, TooManyErrors, UsageError
from aworld_cli.model.base import HasCheckpoint, Model, ModelContext
from aworld_cli.recipe.keep import compile_keep
from aworld_cli.recipe.plan import Chosen, Plan, PlannedStage
from aworld_cli.recipe.schema import CollectStage, SftStage, TrainerStage, TrainStage
from aworld_cli.reporter.base import RunInfo
from aworld_cli.run.announce import JournalTail
from aworld_cli.run.check import select_tasks
from aworld_cli.run.clock import StageClock
from aworld_cli.run.collect import collect
from aworld_cli.run.context import StageContext
from aworld_cli.run.directory import RunDirectory, read_json, write_json
from aworld_cli.run.progress import Listener
from aworld_cli.run.stopping import Stopping
from aworld_cli.run.summary import StageSummary, Status, run_summary
from aworld_cli.seeds import derive_seed
from aworld_cli.trainer.base import StageProgress, Trainer, TrainerContext
from aworld_cli.trajectory.journal import read_journal


class Run:
    """One process's share of a run.

    Args:
        plan: what to do.
        directory: where, locked by this process.
        listener: hears how it goes.
        max_errors: most failed episodes of a stage that a later stage may still learn from.
        stopping: what asks the run to stop; nothing does if absent.
    """

    def __init__(
        self,
        plan: Plan,
        directory: RunDirectory,
        listener: Listener,
        *,
        max_errors: int = 0,
        stopping: Stopping | None = None,
    ) -> None:
        self.plan = plan
        self.directory = directory
        self.listener = listener
        self.max_errors = max_errors
        self.stopping = stopping or Stopping()
        self.shared: dict[str, Any] = {}
        self.checkpoint: Path | None = None
        self.summaries: list[StageSummary] = []
        self._environment: Environment | None = None
        self._trainers: dict[str, Trainer] = {}
        self._preparing: dict[str, asyncio.Task[None]] = {}
        self._tail: tuple[str, JournalTail] | None = None

    async def execute(self) -> list[StageSummary]:
        """Run every stage that is not done yet, and keep `summary.json` up to date.

        Raises:
            AWorldError: a stage cannot go on; what is recorded stays, and the run can be resumed.
        """
        status: Status = "failed"
        try:
            resumed = self.directory.summary_file.is_file()
            self.directory.make_logs()
            self._save("running")
            self.listener.run_started(self._info(resumed=resumed))
            self._prepare_trainers()
            for stage in self.plan.stages:
                self.stopping.check()
                done = self._finished(stage)
                if done is None:
                    self._check_sources(stage)
                summary = done or await self._stage(stage)
                self.summaries.append(summary)
                if summary.checkpoint is not None:
                    self.checkpoint = self.directory.path / summary.checkpoint
                self._save("running")
                self.listener.stage_finished(summary, resumed=done is not None)
            status = "done"
        except (asyncio.CancelledError, KeyboardInterrupt, Stopped):
            status = "stopped"
            raise
        finally:
            self.stopping.closing = True
            await self._close()
            self.listener.run_finished(status, self._save(status))
        return self.summaries

    # -- one stage --------------------------------------------------------------------------------------------

    def _finished(self, stage: PlannedStage) -> StageSummary | None:
        """Return what an earlier process made of the stage, or None when it is to be run (again)."""
        summary = self._read_summary(stage)
        if summary is None:
            return None
        if summary.checkpoint is not None and not (self.directory.path / summary.checkpoint).is_dir():
            return None
        learnt_from = any(
            isinstance(other.spec, SftStage) and other.spec.source == stage.name and self._read_summary(other)
            for other in self.plan.stages
        )
        # Episodes that failed for infrastructure's sake are run again, unless a later stage has learnt without them.
        return None if isinstance(stage.spec, CollectStage) and summary.errors and not learnt_from else summary

    def _read_summary(self, stage: PlannedStage) -> StageSummary | None:
        path = self.directory.stage(stage.directory) / "summary.json"
        value = read_json(path)
        try:
            return None if value is None else StageSummary.from_json(value)
        except (TypeError, KeyError) as error:
            text = f"{path}: not a stage's summary ({error}); delete it, and the stage's records are counted again"
            raise UsageError(text) from error

    def _check_sources(self, stage: PlannedStage) -> None:
        if not isinstance(stage.spec, SftStage):
            return
        source = next(summary for summary in self.summaries if summary.name == stage.spec.source)
        if source.errors > self.max_errors:
            raise TooManyErrors(
                f"{source.errors} episodes of {source.name!r} failed for infrastructure reasons, and {stage.name!r} "
                f"would learn without them; run them again with --resume, or allow them with --max-errors"
            )

    async def _stage(self, stage: PlannedStage) -> StageSummary:
        clock = self.clock = StageClock(self.directory.stage(stage.directory))
        try:
            if isinstance(stage.spec, CollectStage):
                chosen = stage.model or self.plan.model
                model = self.model(chosen, None if stage.model else self.checkpoint)
                policy = self.model(self.plan.model, self.checkpoint) if stage.model else None
                context = StageContext(self.plan, self.directory, self.environment, self.listener, clock, self.stopping)
                summary = await collect(context, stage, stage.spec, model, policy)
            else:
                assert isinstance(stage.spec, TrainerStage)
                summary = await self._train(stage, stage.spec)
        finally:
            clock.tick(force=True)
        summary = dataclasses.replace(summary, seconds=clock.seconds)
        self.directory.check()
        write_json(self.directory.stage(stage.directory) / "summary.json", summary.to_json())
        return summary

    async def _train(self, stage: PlannedStage, spec: TrainerStage) -> StageSummary:
        self.listener.stage_started(stage.name, stage.key, None)
        tail = JournalTail(self.directory.stage(stage.directory) / "trajectories.jsonl")
        context = self._trainer_context(stage, await self._starting_checkpoint())
        preparing = self._preparing.pop(stage.name, None)
        if preparing is not None:
            await preparing
        self._tail = (stage.name, tail)
        assert stage.trainer is not None
        why = "training cannot pause; what its last checkpoint does not hold is done again"
        with self.stopping.at_once(why), stage.trainer.registered.blamed("training"):
            result = await self._trainer(stage).train(context)
        self._hear_episodes()
        return StageSummary(
            name=stage.name,
            kind=stage.key,
            seconds=0.0,
            counts=result.counts,
            totals={"steps": result.steps, **{key: round(value, 6) for key, value in result.metrics.items()}},
            checkpoint=str(context.output.relative_to(self.directory.path)),
        )

    def _report(self, progress: StageProgress) -> None:
        self.clock.tick()
        self.listener.stage_progress(progress)
        self._hear_episodes()

    def _hear_episodes(self) -> None:
        """Pass on the episodes that a trainer has put on record; it may do so in another process."""
        if self._tail is not None:
            stage, tail = self._tail
            for record in tail.read():
                self.listener.trajectory_finished(stage, record)

    # -- components -------------------------------------------------------------------------------------------

    def model(self, chosen: Chosen, checkpoint: Path | None) -> Model:
        """Make a model; `checkpoint` takes the place of its own weights."""
        context = ModelContext(
            run_dir=self.directory.path,
            seed=self.plan.recipe.seed,
            checkpoint=checkpoint,
            corpus=self.environment.corpus,
            shared=self.shared,
        )
        made: Model = chosen.make(context)
        return made

    @property
    def environment(self) -> Environment:
        """The recipe's environment."""
        if self._environment is None:
            made = self.plan.environment.make()
            missing = [
                name for name in ("splits", "tasks", "grade", "corpus") if not callable(getattr(made, name, None))
            ]
            if missing:
                title = self.plan.environment.registered.title
                raise PluginError(
                    f"{title} has no {' and no '.join(missing)}; see `aworld_cli.environment.Environment`"
                )
            self._environment = made
        assert self._environment is not None
        return self._environment

    def _trainer(self, stage: PlannedStage) -> Trainer:
        if stage.name not in self._trainers:
            assert stage.trainer is not None
            self._trainers[stage.name] = stage.trainer.make()
        return self._trainers[stage.name]

    async def _starting_checkpoint(self) -> Path:
        if self.checkpoint is not None:
            return self.checkpoint
        model = self.model(self.plan.model, None)
        if not isinstance(model, HasCheckpoint):
            where = self.plan.document.where(("model",))
            raise RecipeError(
                f"{where}: model: {self.plan.model.registered.component.name} has no weights of its own to train; "
                "use a model with a checkpoint, such as `local`"
            )
        return await model.ensure_checkpoint()

    def _trainer_context(self, stage: PlannedStage, checkpoint: Path) -> TrainerContext:
        spec = stage.spec
        return TrainerContext(
            plan=self.plan,
            stage=stage.name,
            stage_dir=self.directory.stage(stage.directory),
            checkpoint=checkpoint,
            output=self.directory.checkpoint(stage.name),
            seed=derive_seed(self.plan.recipe.seed, "stage", stage.name) % 2**31,
            logs=self.directory.logs,
            records=lambda: self._kept(spec) if isinstance(spec, SftStage) else (),
            tasks=lambda: select_tasks(self.plan, stage, self.environment) if isinstance(spec, TrainStage) else [],
            report=self._report,
            shared=self.shared,
        )

    def _kept(self, spec: SftStage) -> Iterator[dict[str, Any]]:
        """Yield the last record of each episode of the source stage that `keep` keeps."""
        source = next(stage for stage in self.plan.stages if stage.name == spec.source)
        keep = compile_keep(spec.keep)
        latest: dict[str, dict[str, Any]] = {}
        for record in read_journal(self.directory.stage(source.directory) / "trajectories.jsonl"):
            if record["outcome"] in ("answered", "limit"):
                latest[str(record["episode"])] = record
        ordered: Iterable[str] = sorted(latest)  # the order of arrival must not matter to training
        return (latest[key] for key in ordered if keep(latest[key]))

    # -- beginning and end ------------------------------------------------------------------------------------

    def _prepare_trainers(self) -> None:
        for stage in self.plan.stages:
            if stage.trainer is not None and self._finished(stage) is None:
                context = self._trainer_context(stage, Path())
                self._preparing[stage.name] = asyncio.create_task(self._trainer(stage).prepare(context))

    async def _close(self) -> None:
        for task in self._preparing.values():
            task.cancel()
        await asyncio.gather(*self._preparing.values(), return_exceptions=True)
        for value in self.shared.values():
            close = getattr(value, "close", None)
            if close is not None:
                try:
                    await close()
                except Exception as error:  # the others are closed all the same
                    self.listener.note(f"warning: {type(value).__name__} did not close: {error}")

    def _info(self, *, resumed: bool) -> RunInfo:
        return RunInfo(
            name=self.directory.path.name,
            directory=self.directory.path,
            recipe=copy.deepcopy(self.plan.document.value),
            seed=self.plan.recipe.seed,
            resumed=resumed,
            stages=tuple(stage.name for stage in self.plan.stages),
        )

    def _save(self, status: Status) -> dict[str, Any]:
        seconds = sum(summary.seconds for summary in self.summaries)  # over all processes that worked on the run
        value = run_summary(self.directory.path.name, status, self.summaries, seconds)
        with contextlib.suppress(AWorldError) if status in ("failed", "stopped") else contextlib.nullcontext():
            self.directory.check()
            write_json(self.directory.summary_file, value)
        return value
