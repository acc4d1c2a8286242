"""The core's own plugin: it offers the built-in components by the same hooks as everyone else."""

from __future__ import annotations

from aworld_cli.host import Check, Component, hookimpl

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """Return the components that the core brings itself."""
    return [
        Component(
            kind="model",
            name="scripted",
            summary="Replies that the recipe holds, turn by turn: dry runs without a key, GPU or download",
            factory="aworld_cli.model.scripted:scripted",
            config="aworld_cli.model.scripted:ScriptedConfig",
        ),
        Component(
            kind="agent",
            name="react",
            summary="The model calls tools until it answers",
            factory="aworld_cli.agent.react:react",
            config="aworld_cli.agent.react:ReactConfig",
        ),
        Component(
            kind="runtime",
            name="local",
            summary="Many episodes at a time in this process (asyncio)",
            factory="aworld_cli.runtime.local:local",
            config="aworld_cli.runtime.local:LocalConfig",
        ),
        Component(
            kind="tool",
            name="stdio",
            summary="Any MCP server that is a program speaking stdio",
            factory="aworld_cli.tool.stdio:stdio",
            config="aworld_cli.tool.stdio:StdioConfig",
        ),
        Component(
            kind="reporter",
            name="events",
            summary="One JSON line an event, in a file of the run",
            factory="aworld_cli.reporter.events:events",
            config="aworld_cli.reporter.events:EventsConfig",
        ),
    ]


@hookimpl
def aworld_checks() -> list[Check]:
    """Return what `aworld doctor` looks at whatever is installed."""
    from aworld_cli.doctor.core import CHECKS

    return list(CHECKS)
