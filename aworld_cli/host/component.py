"""The records that plugins offer. They name code, they do not import it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

Kind = Literal["model", "tool", "environment", "agent", "runtime", "trainer", "reporter"]
KINDS: Final[tuple[str, ...]] = get_args(Kind)

#: The version of the contract between the host and its plugins; a plugin module states it as `aworld_api`.
API_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Component:
    """One named model, tool, environment, agent, runtime, trainer or reporter.

    Args:
        kind: what it is.
        name: what recipes call it (`kind: NAME`).
        summary: one line.
        factory: `"module:attr"` of a callable `(config) -> component`, for models `(config, ModelContext)`;
            imported when a recipe uses it.
        config: `"module:attr"` of the pydantic model of its options (strict, every field described).
    """

    kind: Kind
    name: str
    summary: str
    factory: str
    config: str


@dataclass(frozen=True, slots=True)
class Command:
    """A plugin's own command group: `aworld NAME ...`; `app` is `"module:attr"` of a Typer app."""

    name: str
    summary: str
    app: str


@dataclass(frozen=True, slots=True)
class Check:
    """One look at this machine that `aworld doctor` takes.

    Args:
        name: what the line begins with.
        summary: one line: what is looked at.
        check: `"module:attr"` of a callable `() -> aworld_cli.doctor.Finding`; imported when doctor runs.
        needed_by: the plugin's components that cannot run without it, as `kind/name`; `*` is any of them, and
            nothing means that no recipe depends on it.
    """

    name: str
    summary: str
    check: str
    needed_by: tuple[str, ...] = ("*",)
