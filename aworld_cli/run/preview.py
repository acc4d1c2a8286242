"""What a run would do, without doing it (`--dry-run`)."""

from __future__ import annotations

from typing import Any

from aworld_cli.environment.base import Task
from aworld_cli.recipe.loading import Chosen, Plan, PlannedStage
from aworld_cli.recipe.schema import CollectStage, TrainStage
from aworld_cli.run.check import check_machine, check_plan, tool_server
from aworld_cli.run.masking import Mask
from aworld_cli.trainer.base import Trainer


def preview(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain values: components with versions and options, tasks and processes of each stage.

    Tasks are really listed by the environment; nothing is started. What the recipe takes from the environment
    (`${env:NAME}`) shows as that reference; other secrets show as `**********`.

    Raises:
        AWorldError: what `check_plan` raises; a plugin fails.
    """
    tasks = check_plan(plan, plan.environment.make())
    check_machine(plan)
    mask = Mask(plan.document.value)
    return {
        "recipe": mask.overlay(plan.recipe.name, ("name",)),
        "seed": mask.overlay(plan.recipe.seed, ("seed",)),
        "model": _component(plan.model, mask),
        "agent": _component(plan.agent, mask),
        "tools": [_component(tool, mask) | {"process": _process(tool, mask)} for tool in plan.tools],
        "environment": _component(plan.environment, mask),
        "runtime": _component(plan.runtime, mask),
        "sampling": mask.overlay(plan.recipe.sampling.model_dump(), ("sampling",)),
        "stages": [_stage(plan, stage, tasks.get(stage.name), mask) for stage in plan.stages],
        "not checked": ["whether endpoints answer", "whether tool servers start", "memory and disk space"],
    }


def _stage(plan: Plan, stage: PlannedStage, tasks: list[Task] | None, mask: Mask) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": stage.name, "kind": stage.key}
    spec = stage.spec
    if isinstance(spec, CollectStage | TrainStage):
        assert tasks is not None
        shown |= {"split": mask.overlay(spec.split, ("stages", stage.index - 1, stage.key, "split"))}
        shown |= {"tasks": len(tasks), "first task": tasks[0].id, "last task": tasks[-1].id}
    if isinstance(spec, CollectStage):
        shown |= {"samples": spec.samples, "episodes": shown["tasks"] * spec.samples}
        if stage.model is not None:
            shown["model"] = _component(stage.model, mask)
    if stage.trainer is not None:
        shown["trainer"] = _component(stage.trainer, mask)
        trainer: Trainer = stage.trainer.make()
        with stage.trainer.registered.blamed("describing what it would do"):
            shown |= mask.hide(trainer.preview(plan))
    return shown


def _component(chosen: Chosen, mask: Mask) -> dict[str, Any]:
    with chosen.registered.blamed("showing its options"):
        options = chosen.config.model_dump(mode="json", by_alias=True)
    shown: dict[str, Any] = mask.overlay(options, chosen.path)
    return {"kind": chosen.title, **shown}


def _process(tool: Chosen, mask: Mask) -> str:
    server = tool_server(tool)
    return " ".join(mask.hide([server.command, *server.args]))
