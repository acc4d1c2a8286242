"""The whole hook contract: what the host asks of plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from aworld_cli.host.component import Command, Component

hookspec = pluggy.HookspecMarker("aworld")
hookimpl = pluggy.HookimplMarker("aworld")


@hookspec
def aworld_components() -> list[Component]:  # type: ignore[empty-body]
    """Return the components that this plugin offers. Called once; must import nothing heavy."""


@hookspec
def aworld_commands() -> list[Command]:  # type: ignore[empty-body]
    """Return the command groups that this plugin adds to `aworld`. Called once; must import nothing heavy."""
