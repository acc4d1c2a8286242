"""Checks a recipe's stages in order, since each may build on the ones before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aworld_cli.errors import did_you_mean
from aworld_cli.recipe.document import KeyPath
from aworld_cli.recipe.keep import compile_keep
from aworld_cli.recipe.plan import Chosen, PlannedStage
from aworld_cli.recipe.schema import STAGES, CollectStage, SftStage, TrainerStage

if TYPE_CHECKING:
    from aworld_cli.recipe.planner import Planner

_STAGE: Final = f"each stage is one key ({', '.join(STAGES)}) with its settings below it"


def plan_stages(planner: Planner) -> list[PlannedStage]:
    """Return the stages that hold; the planner notes what is wrong with the others."""
    value = planner.value
    found = value.get("stages") if isinstance(value, dict) else None
    stages = _Stages(planner)
    planned = [stages.plan(index, item) for index, item in enumerate(found if isinstance(found, list) else ())]
    return [stage for stage in planned if stage is not None]


class _Stages:
    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.names: dict[str, bool] = {}  # whether the stage collects
        self.unsure = False  # whether a stage could not be read, so that names may be missing

    def plan(self, index: int, item: Any) -> PlannedStage | None:
        key = self._key(index, item)
        if key is None:
            self.unsure = True
            return None
        path: KeyPath = ("stages", index, key)
        body = {} if item[key] is None else item[key]
        spec = self.planner.model(STAGES[key], body, path)
        name = self._name(key, body, path)
        model = trainer = None
        if isinstance(body, dict):
            if issubclass(STAGES[key], CollectStage) and isinstance(body.get("model"), dict):
                model = self.planner.component("model", (*path, "model"))
            if issubclass(STAGES[key], SftStage):
                self._check_sft(body, path)
            if issubclass(STAGES[key], TrainerStage):
                trainer = self._trainer(key, body, path)
        self.names[name] = issubclass(STAGES[key], CollectStage)
        return None if spec is None else PlannedStage(index + 1, key, name, spec, model, trainer)

    def _key(self, index: int, item: Any) -> str | None:
        """Return the one key of a stage; None when it has none that is known."""
        if not isinstance(item, dict):
            return None  # the recipe's own model says so
        if len(item) != 1:
            self.planner.problem(("stages", index), _STAGE + _unindented(item))
            return None
        key = str(next(iter(item)))
        if key not in STAGES:
            self.planner.problem(("stages", index, key), f"unknown stage{did_you_mean(key, STAGES)}")
            return None
        return key

    def _name(self, key: str, body: Any, path: KeyPath) -> str:
        given = body.get("name") if isinstance(body, dict) else None
        if isinstance(given, str):
            if given in self.names:
                self.planner.problem((*path, "name"), f"two stages are called {given!r}")
            return given
        if key not in self.names:
            return key
        return next(f"{key}-{n}" for n in range(2, len(self.names) + 3) if f"{key}-{n}" not in self.names)

    def _trainer(self, key: str, body: dict[str, Any], path: KeyPath) -> Chosen | None:
        fields = STAGES[key].model_fields
        name = body.get("kind", fields["kind"].get_default())
        known = {field.alias or name for name, field in fields.items()}
        if not isinstance(name, str) or (*path, "kind") in self.planner.faulty:
            return None
        options = {key: value for key, value in body.items() if key not in known}
        return self.planner.choose("trainer", name, options, path, known)

    def _check_sft(self, body: dict[str, Any], path: KeyPath) -> None:
        source, keep = body.get("from"), body.get("keep")
        collected = [name for name, collects in self.names.items() if collects]
        if isinstance(source, str) and source not in collected and not self.unsure:
            text = f"no earlier stage that collects is called {source!r}{did_you_mean(source, collected)}"
            self.planner.problem((*path, "from"), text)
        try:
            if isinstance(keep, str):
                compile_keep(keep)
        except ValueError as error:
            self.planner.problem((*path, "keep"), str(error))


def _unindented(stage: dict[str, Any]) -> str:
    """Return the hint for `- eval:` whose settings stand beside it."""
    kinds = [key for key in stage if key in STAGES]
    return f"; indent the settings below `{kinds[0]}:`" if len(kinds) == 1 and stage[kinds[0]] is None else ""
