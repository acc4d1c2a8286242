"""Makes a plan of a recipe's values: finds components, checks options, and collects every problem before it stops."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from aworld_cli.errors import AWorldError, PluginError, Problem, RecipeError
from aworld_cli.host.component import Kind
from aworld_cli.host.registry import Registry
from aworld_cli.recipe import wording
from aworld_cli.recipe.components import MANY, SINGLE, components_in, kind_of
from aworld_cli.recipe.document import Document, KeyPath, dotted
from aworld_cli.recipe.environment import references, resolve_environment, scalars
from aworld_cli.recipe.leaves import leaves, options_at
from aworld_cli.recipe.numbers import bool_problem
from aworld_cli.recipe.plan import Chosen, Plan, value_at
from aworld_cli.recipe.schema import DEFAULT_KINDS, STAGES, Recipe, Sampling
from aworld_cli.recipe.secrets import LITERAL, is_literal_secret, is_secret, looks_secret, speaks_of_secret
from aworld_cli.recipe.stages import plan_stages

M = TypeVar("M", bound=BaseModel)
_VERSION: Final = "`aworld: 1`, the version of the recipe language"
_OPENING: Final = "${env:"
_SHORTEST: Final = 4  # characters of a value that is looked for within texts
_WORD: Final = re.compile(r"[A-Za-z0-9_./-]{1,60}")


class Planner:
    """Checks one document.

    Args:
        document: the recipe, its layers merged.
        registry: where components are found.
    """

    def __init__(self, document: Document, registry: Registry) -> None:
        self.document = document
        self.registry = registry
        self.value, unresolved = resolve_environment(document)
        self.problems: list[Problem] = []
        self.broken: list[Problem] = []
        self.faulty: set[KeyPath] = set()
        for path, problem in (*document.faults, *unresolved):
            self.faulty.add(path)
            self.problems.append(problem)

    def plan(self) -> Plan:
        """Return the plan.

        Raises:
            RecipeError: all that is wrong, a line each.
            PluginError: nothing else is wrong, but components that are named are missing, broken or ambiguous.
        """
        recipe = self.model(Recipe, self.value, (), beside=("extends",))
        chosen = {kind: self.component(kind, (kind,)) for kind in SINGLE}
        many = {key: self._components(key, kind) for key, kind in MANY.items()}
        stages = plan_stages(self)
        self._check_files()
        if self.problems:
            raise RecipeError.of(sorted([*self.problems, *self.broken], key=self._order))
        if self.broken:
            raise PluginError.of(self.broken)
        assert recipe is not None
        return Plan(
            recipe=recipe,
            document=self.document,
            model=_sure(chosen["model"]),
            agent=_sure(chosen["agent"]),
            tools=tuple(map(_sure, many["tools"])),
            environment=_sure(chosen["environment"]),
            runtime=_sure(chosen["runtime"]),
            stages=tuple(stages),
            reporters=tuple(map(_sure, many["reporters"])),
        )

    # -- components -------------------------------------------------------------------------------------------

    def _components(self, key: str, kind: Kind) -> list[Chosen | None]:
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return [self.component(kind, (key, index)) for index in range(len(found) if isinstance(found, list) else 0)]

    def component(self, kind: Kind, path: KeyPath) -> Chosen | None:
        """Return the component whose mapping stands at `path`; what is wrong with its shape is said elsewhere."""
        given = value_at(self.value, path)
        if given is None and kind in DEFAULT_KINDS:
            given = {}
        name = kind_of(path, given)
        if not isinstance(given, dict) or not name or (*path, "kind") in self.faulty:
            return None
        return self.choose(kind, name, {key: item for key, item in given.items() if key != "kind"}, path)

    def choose(
        self, kind: Kind, name: str, options: dict[str, Any], path: KeyPath, beside: Collection[str] = ("kind",)
    ) -> Chosen | None:
        """Return a component with its checked options, which stand at `path`; None when something is wrong.

        Args:
            beside: the keys that stand there beside the options.
        """
        try:
            registered = self.registry.find(kind, name)
            config_model = registered.config_model()
        except PluginError as error:
            self._broken((*path, "kind"), path, error)
            return None
        for leaf in leaves(config_model, value_at(self.document.value, path)):
            if is_literal_secret(leaf):
                self.problem((*path, *leaf.path), LITERAL)
                self.faulty.add((*path, *leaf.path))
        try:
            with registered.blamed("checking its options"):
                config = self.model(config_model, options, path, beside)
        except PluginError as error:
            self._broken(path, path, error)
            return None
        return None if config is None else Chosen(registered, config, path)

    def _check_files(self) -> None:
        """Refuse literal secrets in every file, whatever covers them: a run keeps its files as they were given."""
        for file in self.document.files:
            for kind, path, component in components_in(file.value):
                names = {kind_of(path, component)}
                if "kind" not in component:
                    names |= self._names(path)
                for name in filter(None, names):
                    self._check_file(file, kind, name, path, component)

    def _names(self, path: KeyPath) -> set[str | None]:
        """Return what any layer says is the kind of the component at a path."""
        values = [self.document.value, *(file.value for file in self.document.files)]
        return {kind_of(path, value_at(value, path)) for value in values}

    def _check_file(self, file: Document, kind: Kind, name: str, path: KeyPath, component: dict[str, Any]) -> None:
        try:
            model = self.registry.find(kind, name).config_model()
        except PluginError:  # said where the recipe's layers come together, if it is used
            return
        for leaf in leaves(model, component):
            if is_literal_secret(leaf):
                self.problems.append(file.problem((*path, *leaf.path), LITERAL))

    # -- values -----------------------------------------------------------------------------------------------

    def model(self, model: type[M], value: Any, path: KeyPath, beside: Collection[str] = ()) -> M | None:
        """Return `value`, which stands at `path`, as `model` makes it; None when something is wrong with it."""
        refused: set[KeyPath] = set()
        try:
            for leaf in leaves(model, value):
                text = bool_problem(leaf)
                if text is not None:
                    refused.add(leaf.path)
                    self.problem((*path, *leaf.path), text)
            return model.model_validate(value)
        except ValidationError as error:
            items = error.errors(include_url=False, include_input=False)
            for at, text in wording.explain(model, items, value, lambda at: self._veil(model, at, path), beside):
                if at not in refused:
                    shown = value_at(value, at) if self._veil(model, at, path) is None else None
                    self.problem((*path, *at), self._unsaid(path, text) + self._advice((*path, *at), shown))
            return None
        except AWorldError as error:
            self.problem(path, self._unsaid(path, str(error)))
            return None

    def _veil(self, model: type[BaseModel], at: KeyPath, path: KeyPath) -> str | None:
        """Tell what an error says of the value at `at` below `path` when it may be secret (see `wording.Veil`)."""
        whole = (*path, *at)
        given = value_at(self.document.value, whole)
        if isinstance(given, str) and "${env:" in given:
            plain = len(given) <= 60 and given.isprintable() and ":-" not in given
            return f"the value of {given}" if plain else ""
        secret = (
            self.document.place(whole).layer in ("variable", "flag")
            or looks_secret(given)
            or any(speaks_of_secret(part) for part in at[-1:] if isinstance(part, str))
            or any(map(is_secret, options_at(model, at)))
        )
        return "" if secret else None

    def _unsaid(self, path: KeyPath, text: str) -> str:
        """Return a plugin's text with a reference for each value of a variable that stands at or below a path."""
        for at, written in scalars(value_at(self.document.value, path)):
            value = value_at(self.value, (*path, *at))
            if isinstance(written, str) and isinstance(value, str) and value != written and _OPENING in written:
                parts = [(os.environ.get(part.name, ""), part.text) for part in references(written)]
                for said, reference in ((value, written), *parts):
                    if len(said) >= _SHORTEST:
                        text = text.replace(repr(said), reference).replace(said, reference)
        return text

    def _advice(self, path: KeyPath, value: Any) -> str:
        """Return how to mend what is wrong at a path of the recipe itself; "" where the text says it all."""
        if path == ("aworld",):
            newer = isinstance(value, int) and not isinstance(value, bool) and value > 1
            return "; a newer aworld-cli may read it" if newer else f"; write {_VERSION}"
        if len(path) == 1 and path[0] in Sampling.model_fields:
            return "; it stands below `sampling`"
        if not isinstance(value, str) or not _WORD.fullmatch(value):
            return ""
        text = ""
        if (len(path) == 1 and path[0] in SINGLE) or (len(path) == 2 and path[0] in MANY):
            text = f"; write {{kind: {value}}}"
        elif len(path) == 1 and path[0] in MANY:
            text = f"; write [{{kind: {value}}}]"
        elif len(path) == 2 and path[0] == "stages" and value in STAGES:
            text = f"; write `{value}:`, with its settings below it"
        return text

    def problem(self, path: KeyPath, text: str) -> None:
        """Note what is wrong at a path, unless its value was not to be trusted before."""
        if not any(path[:end] in self.faulty for end in range(1, len(path) + 1)):
            self.problems.append(self.document.problem(path, text))

    def _order(self, problem: Problem) -> tuple[int, int, int]:
        sources = [file.source for file in self.document.files]
        source = sources.index(problem.source) if problem.source in sources else len(sources)
        return source, problem.line or 0, problem.column or 0

    def _broken(self, place: KeyPath, path: KeyPath, error: PluginError) -> None:
        at = self.document.place(place)
        text = self._unsaid(path, str(error))
        self.broken.append(Problem(text, dotted(path), at.source, at.line, at.column))


def _sure(chosen: Chosen | None) -> Chosen:
    assert chosen is not None
    return chosen
