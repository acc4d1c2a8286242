"""The calculator as an MCP server: `python -m aworld_toolbox.calculator` speaks MCP over stdio.

One tool, `calculator`. A call is pure and its work is bounded (`aworld_toolbox.arithmetic`), so it runs on
the event loop: a worker thread for each call would cost more than the call.
"""

from typing import TYPE_CHECKING

from .arithmetic import CalculationError, evaluate
from .stdio import serve

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

DESCRIPTION = (
    "Evaluate an arithmetic expression exactly: + - * / // % ** ! ( ), sqrt, ln, log(x, base), sin, round, "
    "gcd, comb, sum, mean, ..., pi, e. Angles are in radians, log(x) is natural, % is the remainder."
)


def server() -> "MCPServer":
    """A new calculator server, to be run over any transport or used in process with `mcp.Client`."""
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    result = MCPServer("calculator", version="0.1.0", log_level="ERROR")

    @result.tool(name="calculator", description=DESCRIPTION, structured_output=False)
    async def calculator(expression: str) -> str:
        try:
            return evaluate(expression)
        except CalculationError as error:
            raise ToolError(str(error)) from error

    return result


if __name__ == "__main__":
    serve(server)
