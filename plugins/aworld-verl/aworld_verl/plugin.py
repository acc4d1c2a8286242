"""The plugin: what `aworld` finds at the entry point `verl`. Imports nothing heavy."""

from __future__ import annotations

from aworld_cli.host import Check, Component, hookimpl

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """Return the trainer."""
    return [
        Component(
            kind="trainer",
            name="verl",
            summary="Reinforcement learning by verl (GRPO), episodes by AWorld",
            factory="aworld_verl.trainer:verl",
            config="aworld_verl.options:VerlOptions",
        )
    ]


@hookimpl
def aworld_checks() -> list[Check]:
    """Return what `aworld doctor` looks at."""
    return [
        Check("verl versions", "The versions that the trainer is built against", "aworld_verl.checks:versions"),
        Check("verl", "Whether verl runs on our platform", "aworld_verl.checks:platform"),
    ]
