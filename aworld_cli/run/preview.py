"""What a run would do, without doing it (`--dry-run`).

Nothing is started or written, and no value that comes from the environment is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aworld_cli.environment.base import Task
from aworld_cli.model.base import HasCheckpoint
from aworld_cli.recipe.plan import Chosen, Plan, PlannedStage
from aworld_cli.recipe.schema import CollectStage, SftStage, TrainStage
from aworld_cli.run.check import check_machine, check_plan, tool_server
from aworld_cli.run.masking import Mask
from aworld_cli.run.needs import gather_needs, make
from aworld_cli.run.preview_resources import ResourcePreview
from aworld_cli.trainer.base import HasConfiguration, Trainer


def preview(
    plan: Plan,
    *,
    settings: Mapping[str, Any] | None = None,
    directory: Path | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """Return the plan as plain values.

    It holds components with versions and options, tasks and models of each stage, processes, ports, GPUs, limits, and
    what was not checked. Tasks are really listed by the environment. What the recipe takes from the environment
    (`${env:NAME}`) shows as that reference; other secrets show as `**********`.

    Args:
        settings: the user's settings in effect; `runs_dir` among them.
        directory: the run's directory, where it has begun.
        whole: show what trainers hand to their libraries in full (`HasConfiguration`).

    Raises:
        AWorldError: what `check_plan` and `check_machine` raise; a plugin fails.
    """
    tasks = check_plan(plan, plan.environment.make())
    check_machine(plan)
    mask = Mask(plan.document.value)
    needed = ResourcePreview(plan, gather_needs(plan), mask)
    name = mask.overlay(plan.recipe.name, ("name",))
    shown: dict[str, Any] = {"recipe": name, "seed": mask.overlay(plan.recipe.seed, ("seed",))}
    if settings is not None:
        shown["settings"] = dict(settings)
        made = Path(str(settings.get("runs_dir", "runs")), f"<UTC time>-{name}")
        shown["run directory"] = str(directory if directory is not None else made)
    weights = _Weights(plan)
    return shown | {
        "model": _component(plan.model, mask),
        "agent": _component(plan.agent, mask),
        "tools": [_tool(tool, mask) for tool in plan.tools],
        "environment": _component(plan.environment, mask),
        "runtime": _component(plan.runtime, mask),
        "reporters": [_component(reporter, mask) for reporter in plan.reporters],
        "sampling": mask.overlay(plan.recipe.sampling.model_dump(), ("sampling",)),
        "stages": [_stage(plan, stage, tasks.get(stage.name), mask, weights.of(stage), whole) for stage in plan.stages],
        **needed.show(),
    }


class _Weights:
    """Follows which weights each stage begins with, as `Run` does."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._newest: str | None = None
        self._trainable = isinstance(make(plan.model, plan), HasCheckpoint)

    def of(self, stage: PlannedStage) -> str:
        """Return the weights of one stage; to be asked for every stage in order."""
        newest = self._newest
        if stage.trainer is not None:
            self._newest = stage.name
        if stage.model is not None or not self._trainable:
            return "the model's own"
        return "the recipe's" if newest is None else f"the checkpoint of {newest}"


def _stage(
    plan: Plan, stage: PlannedStage, tasks: list[Task] | None, mask: Mask, weights: str, whole: bool
) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": stage.name, "kind": stage.key}
    spec = stage.spec
    at = ("stages", stage.index - 1, stage.key)
    if isinstance(spec, CollectStage | TrainStage):
        assert tasks is not None
        shown |= {"split": mask.overlay(spec.split, (*at, "split"))}
        shown |= {"tasks": len(tasks), "first task": tasks[0].id, "last task": tasks[-1].id}
    if isinstance(spec, CollectStage):
        shown |= {"samples": spec.samples, "episodes": shown["tasks"] * spec.samples}
        shown["in effect"] = mask.hide(_effective(plan, stage, weights))
        if spec.sampling is not None:
            shown["sampling"] = mask.overlay(spec.sampling.model_dump(), (*at, "sampling"))
        if stage.model is not None:
            shown["model"] = _component(stage.model, mask)
    if isinstance(spec, SftStage):
        shown |= {"from": spec.source, "keep": mask.overlay(spec.keep, (*at, "keep"))}
    if stage.trainer is not None:
        shown["weights"] = weights
        shown["trainer"] = _component(stage.trainer, mask)
        shown |= _trainer(plan, stage.trainer, mask, whole)
    return shown


def _effective(plan: Plan, stage: PlannedStage, weights: str) -> dict[str, Any]:
    """Return what the episodes of a stage really run with."""
    chosen = stage.model or plan.model
    exact = hasattr(make(chosen, plan), "generate")
    form = "token ids, recorded as sampled" if exact else "messages; their tokens are not known"
    tools = [tool_server(tool).name for tool in plan.tools]
    loop = f"{plan.agent.title} on the runtime {plan.runtime.title}"
    return {"agent loop": loop, "tools": tools, "model": chosen.title, "weights": weights, "exchanged": form}


def _trainer(plan: Plan, chosen: Chosen, mask: Mask, whole: bool) -> dict[str, Any]:
    trainer: Trainer = chosen.make()
    with chosen.registered.blamed("describing what it would do"):
        shown: dict[str, Any] = mask.hide(trainer.preview(plan))
        if isinstance(trainer, HasConfiguration):
            made = trainer.configuration(plan)  # made whether it is shown or not: a mistake in it is told now
            shown["configuration"] = mask.hide(made) if whole else "made and checked; --json shows all of it"
    return shown


def _component(chosen: Chosen, mask: Mask) -> dict[str, Any]:
    with chosen.registered.blamed("showing its options"):
        options = chosen.config.model_dump(mode="json", by_alias=True)
    shown: dict[str, Any] = mask.overlay(options, chosen.path)
    return {"kind": chosen.title, **shown}


def _tool(tool: Chosen, mask: Mask) -> dict[str, Any]:
    """Return a tool with the server that it becomes, and how long that may take."""
    server = tool_server(tool)
    timeouts = {
        "start": mask.hide(f"{server.start_timeout:g} s"),
        "call": mask.hide(f"{server.call_timeout:g} s"),
        "idle": "none: the server lives as long as the run",
    }
    return {**_component(tool, mask), "server": mask.hide(server.name), "scope": server.scope, "timeouts": timeouts}
