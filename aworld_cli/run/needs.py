"""What every component of a plan would start and use, as each says itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from aworld_cli.errors import PluginError
from aworld_cli.model.base import ModelContext
from aworld_cli.recipe.plan import Chosen, Plan
from aworld_cli.resources import HasResources, Resources


@dataclass(frozen=True, slots=True)
class Need:
    """One component's resources; `known` is False when it does not say. `place` is its key in the recipe."""

    place: str
    chosen: Chosen
    resources: Resources = field(default_factory=Resources)
    known: bool = True


def gather_needs(plan: Plan) -> list[Need]:
    """Ask every model, the runtime and every trainer, and of the others those that have something to say.

    Raises:
        PluginError: a component fails at it, or gives something else than `Resources`.
    """
    needs = [_need("model", plan.model, plan), _need("runtime", plan.runtime, plan)]
    needs += [_need(f"stage {stage.name}: model", stage.model, plan) for stage in plan.stages if stage.model]
    needs += [_need(f"stage {stage.name}", stage.trainer, plan) for stage in plan.stages if stage.trainer]
    others = [("agent", plan.agent), ("environment", plan.environment)]
    others += [(f"reporters[{at}]", reporter) for at, reporter in enumerate(plan.reporters)]
    return needs + [need for place, chosen in others if (need := _need(place, chosen, plan)).known]


def make(chosen: Chosen, plan: Plan) -> object:
    """Make a component to ask it something; it is not started. Raises PluginError."""
    if chosen.registered.component.kind == "model":
        return chosen.make(ModelContext(run_dir=Path(), seed=plan.recipe.seed))
    return chosen.make()


def _need(place: str, chosen: Chosen, plan: Plan) -> Need:
    made = make(chosen, plan)
    if not isinstance(made, HasResources):
        return Need(place, chosen, known=False)
    with chosen.registered.blamed("telling what it would use"):
        resources = made.resources()
    if not isinstance(resources, Resources):
        raise PluginError(f"{chosen.registered.title} told its resources as a {type(resources).__name__}")
    return Need(place, chosen, resources)
