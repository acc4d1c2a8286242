"""The plugin: what `aworld` finds at the entry point `local`. Imports nothing heavy."""

from __future__ import annotations

from aworld_cli.host import Check, Command, Component, hookimpl

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """Return the model and the trainer."""
    return [
        Component(
            kind="model",
            name="local",
            summary="A Hugging Face checkpoint on this machine's CPU, or a tiny policy made at run time",
            factory="aworld_local.model:local",
            config="aworld_local.model:LocalConfig",
        ),
        Component(
            kind="trainer",
            name="sft",
            summary="Supervised fine-tuning on recorded tokens and loss masks",
            factory="aworld_local.trainer:sft",
            config="aworld_local.trainer:SftConfig",
        ),
    ]


@hookimpl
def aworld_commands() -> list[Command]:
    """Return the command group `models`."""
    summary = "Models in this machine's cache: list (the default), fetch"
    return [Command(name="models", summary=summary, app="aworld_local.cli:app")]


@hookimpl
def aworld_checks() -> list[Check]:
    """Return what `aworld doctor` looks at."""
    return [
        Check("local engine", "Whether PyTorch and Transformers load", "aworld_local.checks:engine"),
    ]
