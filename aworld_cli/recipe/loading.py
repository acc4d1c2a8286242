"""From a file to a plan: every component found, every option checked, every problem with its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError

from aworld_cli.errors import AWorldError, PluginError, RecipeError, did_you_mean
from aworld_cli.host.component import Kind
from aworld_cli.host.registry import Registered, Registry
from aworld_cli.recipe.document import Document, KeyPath, read_document
from aworld_cli.recipe.environment import dotted, resolve_environment
from aworld_cli.recipe.keep import compile_keep
from aworld_cli.recipe.leaves import leaves
from aworld_cli.recipe.numbers import bool_problem
from aworld_cli.recipe.overrides import apply_overrides
from aworld_cli.recipe.schema import (
    STAGES,
    CollectStage,
    ComponentChoice,
    Recipe,
    SftStage,
    Stage,
    TrainerStage,
)
from aworld_cli.recipe.secrets import LITERAL, is_literal_secret

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A component that the recipe names, with its checked options; `path` is where the recipe names it."""

    registered: Registered
    config: BaseModel
    path: KeyPath = ()

    @property
    def title(self) -> str:
        """`kind (distribution version)`."""
        plugin = self.registered.plugin
        return f"{self.registered.component.name} ({plugin.distribution} {plugin.version})"

    def make(self, *arguments: Any) -> Any:
        """Call the component's factory with its options and `arguments`.

        Raises:
            PluginError: it cannot be loaded, or its factory fails; an AWorldError of its own passes.
        """
        factory = self.registered.factory()
        with self.registered.blamed("being made"):
            return factory(self.config, *arguments)


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """One stage: its settings, and the components that only it uses."""

    index: int
    key: str
    name: str
    spec: Stage
    model: Chosen | None = None
    trainer: Chosen | None = None

    @property
    def directory(self) -> str:
        """The stage's folder under `stages/`."""
        return f"{self.index:02d}-{self.name}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A recipe whose components are all found and whose options all hold."""

    recipe: Recipe
    document: Document
    model: Chosen
    agent: Chosen
    tools: tuple[Chosen, ...]
    environment: Chosen
    runtime: Chosen
    stages: tuple[PlannedStage, ...]


def load_plan(path: Path, registry: Registry, settings: Sequence[str] = ()) -> Plan:
    """Read the recipe at `path`, apply `--set` settings and check all of it.

    Raises:
        RecipeError: every problem of the file, a line each.
        PluginError: a component that it names is missing, broken or ambiguous.
    """
    document = read_document(path)
    apply_overrides(document, list(settings))
    return plan_document(document, registry)


def plan_document(document: Document, registry: Registry) -> Plan:
    """Check a document whose overrides are applied (see `load_plan`)."""
    value, problems = resolve_environment(document)
    if problems:
        raise RecipeError("\n".join(problems))
    return _Planner(document, value, registry).plan()


class _Planner:
    def __init__(self, document: Document, value: Any, registry: Registry) -> None:
        self.document = document
        self.value = value
        self.registry = registry
        self.problems: list[str] = []
        self.broken: list[PluginError] = []

    def plan(self) -> Plan:
        recipe = self._model(Recipe, self.value, ())
        stages = self._stages()
        if recipe is None:
            raise RecipeError("\n".join(self.problems))
        model = self._choose("model", recipe.model, ("model",))
        agent = self._choose("agent", recipe.agent, ("agent",))
        environment = self._choose("environment", recipe.environment, ("environment",))
        runtime = self._choose("runtime", recipe.runtime, ("runtime",))
        tools = [self._choose("tool", tool, ("tools", at)) for at, tool in enumerate(recipe.tools)]
        if self.problems:
            raise RecipeError("\n".join([*self.problems, *map(str, self.broken)]))
        if self.broken:
            raise PluginError("\n".join(dict.fromkeys(map(str, self.broken))))
        assert model and agent and environment and runtime
        chosen_tools = tuple(tool for tool in tools if tool)
        return Plan(recipe, self.document, model, agent, chosen_tools, environment, runtime, tuple(stages))

    def _stages(self) -> list[PlannedStage]:
        found = self.value.get("stages") if isinstance(self.value, dict) else None
        planned: list[PlannedStage] = []
        for index, item in enumerate(found if isinstance(found, list) else ()):
            if not isinstance(item, dict) or len(item) != 1:
                continue  # the recipe's own model says so
            key, body = next(iter(item.items()))
            path: KeyPath = ("stages", index, key)
            if key not in STAGES:
                self._problem(path, f"unknown stage{did_you_mean(str(key), STAGES)}")
                continue
            spec = self._model(STAGES[key], {} if body is None else body, path)
            if spec is not None:
                planned.append(self._stage(len(planned) + 1, key, spec, path, planned))
        return planned

    def _stage(self, index: int, key: str, spec: Stage, path: KeyPath, earlier: Sequence[PlannedStage]) -> PlannedStage:
        names = {stage.name for stage in earlier}
        name = spec.name or key
        if spec.name is None and name in names:
            name = next(f"{key}-{n}" for n in range(2, 1_000) if f"{key}-{n}" not in names)
        elif name in names:
            self._problem((*path, "name"), f"two stages are called {name!r}")
        model = trainer = None
        if isinstance(spec, CollectStage) and spec.model is not None:
            model = self._choose("model", spec.model, (*path, "model"))
        if isinstance(spec, SftStage):
            self._check_sft(spec, path, earlier)
        if isinstance(spec, TrainerStage):
            kind = cast(str, spec.kind)  # type: ignore[attr-defined]
            trainer = self._choose("trainer", ComponentChoice(kind=kind, **spec.options), path)
        return PlannedStage(index, key, name, spec, model, trainer)

    def _check_sft(self, spec: SftStage, path: KeyPath, earlier: Sequence[PlannedStage]) -> None:
        collected = [stage.name for stage in earlier if isinstance(stage.spec, CollectStage)]
        if spec.source not in collected:
            self._problem(
                (*path, "from"),
                f"no earlier stage that collects is called {spec.source!r}{did_you_mean(spec.source, collected)}",
            )
        try:
            compile_keep(spec.keep)
        except ValueError as error:
            self._problem((*path, "keep"), str(error))

    def _choose(self, kind: Kind, choice: ComponentChoice, path: KeyPath) -> Chosen | None:
        try:
            registered = self.registry.find(kind, choice.kind)
            config_model = registered.config_model()
        except PluginError as error:
            self.broken.append(PluginError(f"{self.document.where((*path, 'kind'))}: {dotted(path)}: {error}"))
            return None
        for value in (self.document.value, self.document.original):  # the file is copied to the run as it was given
            for leaf in leaves(config_model, value_at(value, path)):
                if is_literal_secret(leaf):
                    self._problem((*path, *leaf.path), LITERAL)
        try:
            with registered.blamed("checking its options"):
                config = self._model(config_model, choice.options, path)
        except PluginError as error:
            self.broken.append(PluginError(f"{self.document.where(path)}: {dotted(path)}: {error}"))
            return None
        return None if config is None else Chosen(registered, config, path)

    def _model(self, model: type[M], value: Any, path: KeyPath) -> M | None:
        try:
            for leaf in leaves(model, value):
                text = bool_problem(leaf)
                if text is not None:
                    self._problem((*path, *leaf.path), text)
            return model.model_validate(value)
        except ValidationError as error:
            for item in error.errors(include_input=False, include_context=True):
                self._problem(*_explain(model, item, path))
            return None
        except AWorldError as error:
            self._problem(path, str(error))
            return None

    def _problem(self, path: KeyPath, text: str) -> None:
        key = dotted(path)
        line = f"{self.document.where(path)}: {key}: {text}" if key else f"{self.document.where(path)}: {text}"
        if line not in self.problems:
            self.problems.append(line)


def _explain(model: type[BaseModel], item: Any, path: KeyPath) -> tuple[KeyPath, str]:
    loc = tuple(part for part in item["loc"] if not (isinstance(part, str) and part.startswith("function-")))
    where: KeyPath = (*path, *loc)
    if item["type"] == "extra_forbidden":
        known = _keys_of(model, loc[:-1])
        return where, f"unknown key{did_you_mean(str(loc[-1]), known)}"
    if item["type"] == "missing":
        return where, "is required and missing"
    return where, str(item["msg"]).removeprefix("Value error, ")


def _keys_of(model: type[BaseModel], loc: Iterable[str | int]) -> list[str]:
    current: type[BaseModel] | None = model
    for part in loc:
        assert current is not None
        field = current.model_fields.get(str(part))
        if field is None:
            return []
        options = [field.annotation, *get_args(field.annotation)]
        current = next((o for o in options if isinstance(o, type) and issubclass(o, BaseModel)), None)
        if current is None:
            return []
    assert current is not None
    return [field.alias or name for name, field in current.model_fields.items()]


def value_at(value: Any, path: KeyPath) -> Any:
    """Return what plain values hold at `path`; None when they hold nothing there."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value
