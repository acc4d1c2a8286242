"""The verl trainer as a component: settings from the recipe, a process that trains, a Hugging Face directory."""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

from aworld_cli.recipe.plan import Plan
from aworld_cli.report.metrics import Tally
from aworld_cli.resources import Resources
from aworld_cli.trainer import StageProgress, TrainerContext, TrainerResult
from aworld_cli.trajectory.journal import finite, read_journal
from aworld_verl import preview
from aworld_verl.cpu.constants import ROLLOUT_NAME
from aworld_verl.options import VerlOptions
from aworld_verl.process import DriverProcess
from aworld_verl.source import SourceSettings, step_sample

#: What a step's line shows, and verl's or our name of it.
_SHOWN = {
    "tool use": "episode/tool_use",
    "tokens": "episode/sampled_tokens",
    "entropy": "actor/entropy",
    "KL": "actor/ppo_kl",
    "cut": "episode/cut",
    "failed groups": "episode/failed_groups",
}


class VerlTrainer:
    """Trains by verl's own trainer in a process of its own; its episodes run through AWorld's runtime."""

    name = "verl"

    def __init__(self, options: VerlOptions) -> None:
        self.options = options

    async def prepare(self, context: TrainerContext) -> None:
        """Start the process: loading verl and Ray takes long and needs no checkpoint."""
        driver = DriverProcess(context.logs / f"{context.stage}.log")
        context.shared[f"verl-{context.stage}"] = driver
        await driver.start()

    async def train(self, context: TrainerContext) -> TrainerResult:
        """See `Trainer.train`."""
        driver: DriverProcess = context.shared.pop(f"verl-{context.stage}")
        try:
            async for event in driver.train(self._settings(context)):
                if event["event"] == "step":
                    _append(context.stage_dir / "steps.jsonl", event)
                    context.report(_progress(event))
                elif event["event"] == "done":
                    _publish(Path(event["checkpoint"]), context.output)
        finally:
            await driver.close()
        counts, figures = self._read_back(context)
        return TrainerResult(self.options.steps, figures, counts)

    def check(self, plan: Plan, tasks: int) -> dict[str, str]:
        """See `Trainer.check`; own `overrides` are held against the schema of the installed verl."""
        problems: dict[str, str] = {}
        if self.options.batch > tasks:
            problems["batch"] = f"a batch of {self.options.batch} tasks is asked for, the stage has {tasks}"
        longest = plan.recipe.sampling.max_tokens
        if longest > self.options.response_length:
            problems["response_length"] = (
                f"sampling.max_tokens ({longest}) is more than {self.options.response_length}: replies would be cut"
            )
        if plan.recipe.sampling.temperature == 0:
            problems["kind"] = "sampling.temperature is 0: the episodes of a group would all be the same"
        if self.options.overrides:
            from aworld_verl.config import compose_config
            from aworld_verl.settings import SettingsError

            try:
                compose_config(self._overrides(plan))
            except SettingsError as error:
                problems["overrides"] = str(error)
        return problems

    def resources(self) -> Resources:
        """See `aworld_cli.resources`."""
        return preview.resources(self.options.threads)

    def preview(self, plan: Plan) -> dict[str, Any]:
        """Return what `--dry-run` shows beside the options: what is in effect, and what verl is told."""
        common = self._common(plan)
        effective = {
            "trainer": "verl's main_ppo (V1, synchronous), FSDP2 in float32 on the CPU, one rank",
            "agent loop": f"AWorld's own, with the recipe's agent {plan.agent.title}",
            "rollout backend": f"{ROLLOUT_NAME}: the exact sampler in the driver, weights handed over each step",
            "old log-probabilities": "the sampler's own" if common["old_logprobs"] == "rollout" else "computed again",
            "episodes": self.options.steps * self.options.batch * self.options.samples,
        }
        return {"in effect": effective, "verl": self._overrides(plan)}

    def configuration(self, plan: Plan) -> dict[str, Any]:
        """Return verl's whole configuration, its own defaults among it. Raises RecipeError, MachineError."""
        return preview.compose(self._overrides(plan))

    def _overrides(self, plan: Plan) -> list[str]:
        """Return verl's configuration, with words in place of what only a run knows."""
        from aworld_verl.config import build_overrides
        from aworld_verl.settings import TrainSettings

        values = {**self._common(plan), "model_path": "CHECKPOINT", "tasks_file": "TASKS", "out_dir": "STAGE"}
        settings = TrainSettings(**values, source="aworld_verl.source:RecipeSource")
        return build_overrides(settings, settings_file=Path("SETTINGS"), weights_dir=Path("WEIGHTS"))

    def _settings(self, context: TrainerContext) -> dict[str, Any]:
        tasks = context.tasks()
        context.stage_dir.mkdir(parents=True, exist_ok=True)
        tasks_file = context.stage_dir / "tasks.json"
        tasks_file.write_text(json.dumps([task.id for task in tasks]))
        source = SourceSettings(
            recipe=context.plan.document.value,
            recipe_source=context.plan.document.source,
            stage=context.stage,
            directory=str(Path.cwd()),
            checkpoint=str(context.checkpoint),
            stage_dir=str(context.stage_dir),
            logs=str(context.logs),
            seed=context.seed,
        )
        return {
            **self._common(context.plan),
            "model_path": str(context.checkpoint),
            "tasks_file": str(tasks_file),
            "out_dir": str(context.stage_dir),
            "source": "aworld_verl.source:RecipeSource",
            "source_settings": source.to_json(),
            "seed": context.seed,
        }

    def _common(self, plan: Plan) -> dict[str, Any]:
        values = self.options.model_dump(exclude={"algorithm", "mini_batch", "overrides"})
        sampling = plan.recipe.sampling
        exact = sampling.temperature == 1.0 and sampling.top_p == 1.0
        return {
            **values,
            "mini_batch": self.options.mini_batch or self.options.batch,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "old_logprobs": "rollout" if exact else "recompute",
            "overrides": [f"{key}={json.dumps(value)}" for key, value in self.options.overrides.items()],
        }

    def _read_back(self, context: TrainerContext) -> tuple[dict[str, int], dict[str, float]]:
        """Return what became of every episode that the steps asked for, and sums and mean rewards over them."""
        samples = self.options.samples
        wanted = self.options.steps * self.options.batch * samples
        counts = dict.fromkeys(("correct", "wrong", "limit", "error"), 0)
        totals = {"episodes": 0.0, "completion_tokens": 0.0}
        rewards: dict[int, dict[tuple[str, int], float]] = {}
        tallies: dict[tuple[str, str], Tally] = {}
        for record in read_journal(context.stage_dir / "trajectories.jsonl"):
            key = (record["episode"]["task"], record["episode"]["hash"])
            known = step_sample(self.options.steps, samples - 1, samples) + 1
            tallies.setdefault(key, Tally([key], known)).add(record)
            if record["grade"] is not None:  # of two records of one episode the later counts
                step = rewards.setdefault(record["extra"]["step"], {})
                step[record["episode"]["task"], record["episode"]["sample"]] = record["grade"]["reward"]
        for tally in tallies.values():
            found, sums = tally.counts(), tally.totals()
            for name in counts:
                counts[name] += found[name]
            for name in ("episodes", "completion_tokens"):
                totals[name] += sums[name]
        for name, number in (("first_reward", 1), ("last_reward", self.options.steps)):
            if rewards.get(number):
                totals[name] = statistics.fmean(rewards[number].values())
        return {"selected": wanted, **counts, "missing": wanted - sum(counts.values())}, totals


def _append(path: Path, event: dict[str, Any]) -> None:
    """Keep a step's figures, verl's own among them."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(finite(event)) + "\n")


def _progress(event: dict[str, Any]) -> StageProgress:
    seconds, metrics = event["seconds"], event.get("metrics", {})
    figures = {"reward": float(event["reward"])}
    for title, key in _SHOWN.items():
        if key in metrics:
            figures[title] = float(metrics[key])
    figures |= {f"{name} s": float(seconds[name]) for name in ("step", "generate", "update") if name in seconds}
    return StageProgress(int(event["step"]), int(event["of"]), figures)


def _publish(made: Path, output: Path) -> None:
    """Move the finished checkpoint to where the run keeps it; both lie in the run's directory."""
    output.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(output, ignore_errors=True)
    made.rename(output)


def verl(options: VerlOptions) -> VerlTrainer:
    """Make the trainer."""
    return VerlTrainer(options)
