"""What the toolbox offers AWorld. Import-light: everything else is named, and loaded when it is used."""

from aworld_cli.host import Check, Component, hookimpl

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """The toolbox's tools."""
    return [
        Component(
            kind="tool",
            name="calculator",
            summary="Exact arithmetic and scientific functions, with bounded work",
            factory="aworld_toolbox.tools:calculator",
            config="aworld_toolbox.tools:CalculatorConfig",
        )
    ]


@hookimpl
def aworld_checks() -> list[Check]:
    """Return what `aworld doctor` looks at."""
    return [
        Check("mcp", "Whether the MCP SDK loads", "aworld_toolbox.checks:mcp"),
    ]
