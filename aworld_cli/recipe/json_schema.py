"""The JSON Schema of recipes, composed from the components of the installed plugins (draft 2020-12).

`kind` decides which options stand beside it, by `if`/`then`: an editor then has one error to show, at the key that is
wrong, and not one of each component. What is required stands apart from what is allowed, since a file that `extends`
another may leave any of it to that one. Nothing here depends on the order in which plugins were found.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from aworld_cli.errors import PluginError
from aworld_cli.host.component import Kind
from aworld_cli.host.registry import Registered, Registry
from aworld_cli.recipe.components import MANY, SINGLE
from aworld_cli.recipe.option_schema import SHARED, Schema, option_schema, rename_references
from aworld_cli.recipe.schema import DEFAULT_KINDS, STAGES, CollectStage, Recipe, TrainerStage

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
TITLE: Final = "AWorld recipe"

_UNSAID: Final = "recipe.ComponentChoice"  # what the recipe's own models say of a component: nothing
_BASE: Final = {"type": "string", "pattern": r"^(?![\s\S]*\$\{env:)[\s\S]*\S"}
_EXTENDS: Final[Schema] = {
    "description": "A recipe file, or a list of them, that this one builds on: what stands here replaces what stands "
    "there, key by key. Paths are relative to this file.",
    "anyOf": [_BASE, {"type": "array", "items": _BASE, "minItems": 1}],
}


@dataclass(slots=True)
class RecipeSchema:
    """The schema, and a line for each component whose options could not be read."""

    value: Schema
    problems: list[str]


def recipe_schema(registry: Registry) -> RecipeSchema:
    """Compose the schema of the recipes that this registry's plugins can run.

    A component whose options cannot be loaded is left out; one whose options have no schema takes any.
    """
    composer = _Composer(registry)
    return RecipeSchema(composer.compose(), composer.problems)


@dataclass(frozen=True, slots=True)
class _Branch:
    """A component: what recipes call it, where its options are defined, and which of them it needs."""

    names: tuple[str, ...]
    summary: str
    definition: str
    needs: tuple[str, ...]


@dataclass(slots=True)
class _Composer:
    registry: Registry
    definitions: dict[str, Schema] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def compose(self) -> Schema:
        own = self._adopt(option_schema(Recipe), "recipe")
        properties: dict[str, Any] = own["properties"]
        for single in SINGLE:
            properties[single] = {**_notes(properties[single]), **_usual(single), **_refer(single)}
            self._define_kind(single)
        for key, kind in MANY.items():
            properties[key] = {**_notes(properties[key]), "type": "array", "items": _whole(kind)}
            self._define_kind(kind)
        properties["stages"] = {**_notes(properties["stages"]), "type": "array", "minItems": 1, "items": self._stages()}
        named = ", ".join(sorted({plugin.distribution for plugin in self.registry.plugins if plugin.status == "ok"}))
        return {
            "$schema": DRAFT,
            "$comment": f"Made by `aworld schema` from {named}",
            "title": TITLE,
            "description": own["description"],
            "type": "object",
            "properties": {"extends": _EXTENDS, **properties},
            "additionalProperties": False,
            "if": {"required": ["extends"]},
            "then": True,
            "else": {"required": own["required"], "properties": {key: _refer(f"whole-{key}") for key in SINGLE}},
            "$defs": {
                **SHARED,
                **{name: self.definitions[name] for name in sorted(self.definitions) if name != _UNSAID},
            },
        }

    def _adopt(self, made: Schema, owner: str) -> Schema:
        """Move what a schema defines to `$defs`, by names that no other plugin's have; return the rest."""
        nested: dict[str, Schema] = made.get("$defs", {})
        for number in itertools.count(1):
            prefix = owner if number == 1 else f"{owner}.{number}"
            names = {name: f"{prefix}.{name}" for name in nested}
            renamed: Schema = rename_references(made, names)
            bodies = {names[name]: body for name, body in renamed.pop("$defs", {}).items()}
            if all(self.definitions.get(name, body) == body for name, body in bodies.items()):
                break  # else another module of this plugin has a class of that name
        self.definitions |= bodies
        return renamed

    def _define_kind(self, kind: Kind) -> None:
        """Define `KIND`, what may be said of a component of that kind, and `whole-KIND`, what must be."""
        branches = []
        for item, options in self._components(kind):
            branch = self._branch(item, options, f"{item.plugin.distribution}.{kind}.{item.component.name}")
            self.definitions[branch.definition] = _beside(options, _kind([branch]), {})
            branches.append(branch)
        default = DEFAULT_KINDS.get(kind)
        tests = [_test(branch, default, _refer(branch.definition)) for branch in branches]
        needs = [_test(branch, default, {"required": [*branch.needs]}) for branch in branches if branch.needs]
        self.definitions[kind] = {"type": "object", "properties": {"kind": _kind(branches, default)}, **_all(tests)}
        self.definitions[f"whole-{kind}"] = {**({} if default else {"required": ["kind"]}), **_all(needs)}

    def _components(self, kind: Kind) -> list[tuple[Registered, Schema]]:
        """Return the components of a kind whose options could be loaded, and the schema of these."""
        found = self.registry.components(kind)
        found.sort(key=lambda item: (item.component.name, item.plugin.distribution))
        return [(item, options) for item in found if (options := self._options(item)) is not None]

    def _options(self, item: Registered) -> Schema | None:
        try:
            model = item.config_model()
        except PluginError as error:
            self.problems.append(f"{error}; it is left out")
            return None
        try:
            with item.blamed("making its JSON Schema"):
                made = option_schema(model)
        except PluginError as error:
            self.problems.append(f"{error}; any options are taken for it")
            made = {}
        return self._adopt(made if made.get("type") == "object" else {"type": "object"}, item.plugin.distribution)

    def _branch(self, item: Registered, options: Schema, definition: str) -> _Branch:
        name = item.component.name
        alone = sum(other.component.name == name for other in self.registry.components(item.component.kind)) == 1
        names = (*([name] if alone else []), f"{item.plugin.distribution}/{name}")
        needs = tuple(key for key in options.get("required", ()) if key != "kind")
        return _Branch(names, item.component.summary, definition, needs)

    def _stages(self) -> Schema:
        trainers = self._components("trainer")
        for key, model in STAGES.items():
            own = self._adopt(option_schema(model), "recipe")
            if issubclass(model, CollectStage):
                found = own["properties"]["model"]
                own["properties"]["model"] = {**_notes(found), "anyOf": [_whole("model"), {"type": "null"}]}
            if issubclass(model, TrainerStage):
                own = self._trainer_stage(key, own, trainers)
            self.definitions[f"stage-{key}"] = own
        keys = {key: _refer(f"stage-{key}") for key in STAGES}
        one = {"minProperties": 1, "maxProperties": 1, "additionalProperties": False}
        return {"type": "object", "properties": keys, **one}

    def _trainer_stage(self, key: str, stage: Schema, trainers: Iterable[tuple[Registered, Schema]]) -> Schema:
        """Return the schema of a stage in which the options of the trainer stand among the stage's own keys."""
        default = stage["properties"].pop("kind").get("default")
        branches = []
        for item, options in trainers:
            branch = self._branch(item, options, f"{item.plugin.distribution}.trainer.{item.component.name}.{key}")
            own = stage["properties"]
            needs = [*stage.get("required", ()), *(need for need in branch.needs if need not in own)]
            self.definitions[branch.definition] = {**_beside(options, _kind([branch]), own), "required": needs}
            branches.append(branch)
        tests = [_test(branch, default, _refer(branch.definition)) for branch in branches]
        return {
            "type": "object",
            **_notes(stage),
            "properties": {"kind": _kind(branches, default)},
            "required": stage.get("required", []),
            **_all(tests),
        }


def _kind(branches: Sequence[_Branch], default: str | None = None) -> Schema:
    """Return the schema of `kind`: one of the components' names, the short ones first, or a reference."""
    names = sorted(((name, branch) for branch in branches for name in branch.names), key=lambda pair: "/" in pair[0])
    words = {"enum": [name for name, _ in names], "enumDescriptions": [branch.summary for _, branch in names]}
    return {
        "description": "The component's name, as `aworld plugins` lists it.",
        **({"default": default} if default else {}),
        "anyOf": [*([words] if names else []), _refer("env-reference")],
    }


def _test(branch: _Branch, default: str | None, then: Schema) -> Schema:
    """Return `then` for the recipes that mean this component; without `kind` they mean the default."""
    needed: Schema = {} if default in branch.names else {"required": ["kind"]}
    return {"if": {"properties": {"kind": {"enum": [*branch.names]}}, **needed}, "then": then}


def _beside(options: Schema, kind: Schema, keys: Schema) -> Schema:
    """Return a component's options with `kind` and further keys among them; what of it is required stands elsewhere."""
    own = {key: value for key, value in options.get("properties", {}).items() if key != "kind"}
    return {
        **{key: value for key, value in options.items() if key != "required"},
        "properties": {"kind": kind, **own, **keys},
    }


def _usual(kind: Kind) -> Schema:
    return {"default": {"kind": DEFAULT_KINDS[kind]}} if kind in DEFAULT_KINDS else {}


def _all(tests: Sequence[Schema]) -> Schema:
    return {"allOf": [*tests]} if tests else {}


def _refer(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _whole(kind: Kind) -> Schema:
    return {"allOf": [_refer(kind), _refer(f"whole-{kind}")]}


def _notes(found: Schema) -> Schema:
    return {key: found[key] for key in ("description", "markdownDescription", "default") if key in found}
