"""The core's own plugin: it offers the built-in components by the same hooks as everyone else."""

from __future__ import annotations

from aworld_cli.host import Component, hookimpl

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """Return the built-in agent, runtime and tool."""
    return [
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
    ]
