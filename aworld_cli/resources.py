"""What a component would start and use, told without starting anything.

`aworld run --dry-run` shows it and `aworld doctor RECIPE` looks whether it is there. A model, runtime or trainer says
it by a method `resources`; one that does not is listed under `not checked`. Tools are server processes, which the core
knows itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """Processes of one sort that a run would start.

    Args:
        name: what people call them.
        command: program and arguments, where that is known before the start.
        count: how many.
        threads: CPU threads that compute in each; 0 for one that mostly waits.
        shared: whether components of one run that name it (by name and command) all use the same.
        note: what else is worth knowing, in a few words.
    """

    name: str
    command: tuple[str, ...] = ()
    count: int = 1
    threads: int = 0
    shared: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a component would take beside the process of `aworld` itself; the default takes nothing.

    Args:
        processes: what it starts.
        tool_servers: whether it starts the recipe's tool servers once more, for episodes of its own.
        ports: what it listens on, a line each.
        gpus: real ones that must be there.
        ray: Ray resources that it asks for, by Ray's names (`CPU`, `GPU`).
        endpoints: URLs that it sends requests to.
        limits: names of its own options that bound time, tries or numbers.
        unknown: what it cannot tell before it starts, a line each.
    """

    processes: tuple[ProcessPlan, ...] = ()
    tool_servers: bool = False
    ports: tuple[str, ...] = ()
    gpus: int = 0
    ray: Mapping[str, float] = field(default_factory=dict)
    endpoints: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@runtime_checkable
class HasResources(Protocol):
    """A component that can say what it would take. It must not start, read or load anything to answer."""

    def resources(self) -> Resources:
        """Return what this component, with its options, would start and use."""
        ...
