"""What a recipe comes to once it is checked: its components, found, and its stages, planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from aworld_cli.host.registry import Registered
from aworld_cli.recipe.document import Document, KeyPath
from aworld_cli.recipe.schema import Recipe, Stage


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
    reporters: tuple[Chosen, ...] = ()


def value_at(value: Any, path: KeyPath) -> Any:
    """Return what plain values hold at `path`; None when they hold nothing there."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return None
    return value
