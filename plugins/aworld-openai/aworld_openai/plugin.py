"""What the plugin offers: the model `openai`."""

from __future__ import annotations

from aworld_cli.host import Component, hookimpl

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """Return the model `openai`."""
    return [
        Component(
            kind="model",
            name="openai",
            summary="Any OpenAI-compatible chat endpoint",
            factory="aworld_openai.model:openai",
            config="aworld_openai.config:OpenAIConfig",
        )
    ]
