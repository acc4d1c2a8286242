"""The tool `rain-gauge`, and its MCP server: `python -m aworld_weather.gauge UNIT`."""

from __future__ import annotations

import sys
from typing import Literal

from aworld_cli.tool import StdioServer
from pydantic import BaseModel, ConfigDict, Field

Unit = Literal["mm", "inch"]


class GaugeConfig(BaseModel):
    """Options of the tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: Unit = Field("mm", description="What it measures in: mm or inch.")


def rain_gauge(config: GaugeConfig) -> StdioServer:
    """Describe the server."""
    arguments = ("-P", "-m", "aworld_weather.gauge", config.unit)
    return StdioServer(name="rain-gauge", command=sys.executable, args=arguments)


def serve(unit: str) -> None:
    """Serve until stdin ends."""
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    from aworld_weather.stations import rain

    server = MCPServer("rain-gauge", log_level="ERROR")

    @server.tool(name="rain", description=f"The rain at a station in a month, in {unit}.", structured_output=False)
    async def measure(station: str, month: str) -> str:
        try:
            value = rain()[station][month]
        except KeyError as error:
            raise ToolError(f"there is no {error.args[0]!r}; stations: {', '.join(rain())}") from error
        return str(value) if unit == "mm" else f"{value / 25.4:.2f}"

    server.run("stdio")


if __name__ == "__main__":
    serve(sys.argv[1])
