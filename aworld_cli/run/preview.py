"""What a run would do, without doing it (`--dry-run`)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, SecretStr

from aworld_cli.recipe.loading import Chosen, Plan, PlannedStage
from aworld_cli.recipe.schema import CollectStage, TrainStage


def preview(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain values: components with versions and options, tasks and processes of each stage.

    Tasks are really listed by the environment; nothing is started. Secrets show as `**********`.
    """
    environment = plan.environment.registered.factory()(plan.environment.config)
    stages = [_stage(plan, stage, environment) for stage in plan.stages]
    return {
        "recipe": plan.recipe.name,
        "seed": plan.recipe.seed,
        "model": _component(plan.model),
        "agent": _component(plan.agent),
        "tools": [_component(tool) | {"process": _process(tool)} for tool in plan.tools],
        "environment": _component(plan.environment),
        "runtime": _component(plan.runtime),
        "sampling": plan.recipe.sampling.model_dump(),
        "stages": stages,
        "not checked": ["whether endpoints answer", "whether tool servers start", "memory and disk space"],
    }


def _stage(plan: Plan, stage: PlannedStage, environment: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": stage.name, "kind": stage.key}
    spec = stage.spec
    if isinstance(spec, CollectStage | TrainStage):
        tasks = environment.tasks(spec.split, spec.tasks)
        shown |= {"split": spec.split, "tasks": len(tasks)}
        if tasks:
            shown |= {"first task": tasks[0].id, "last task": tasks[-1].id}
    if isinstance(spec, CollectStage):
        shown |= {"samples": spec.samples, "episodes": shown["tasks"] * spec.samples}
        if stage.model is not None:
            shown["model"] = _component(stage.model)
    if stage.trainer is not None:
        shown["trainer"] = _component(stage.trainer)
        trainer = stage.trainer.registered.factory()(stage.trainer.config)
        describe = getattr(trainer, "preview", None)
        if describe is not None:
            shown |= describe(plan)
    return shown


def _component(chosen: Chosen) -> dict[str, Any]:
    return {"kind": chosen.title, **options_of(chosen.config)}


def options_of(config: BaseModel) -> dict[str, Any]:
    """Return a component's options as plain values, secrets masked."""
    shown: dict[str, Any] = config.model_dump(mode="json")
    for name in type(config).model_fields:
        if isinstance(getattr(config, name), SecretStr):
            shown[name] = "**********"
    return shown


def _process(tool: Chosen) -> str:
    server = tool.registered.factory()(tool.config)
    return " ".join([server.command, *server.args])
