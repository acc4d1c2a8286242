"""An MCP server of one tool. The agent reads its name, its arguments and its docstring, and calls it by those."""

import re

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("my-tools", log_level="ERROR")


@server.tool()
async def calculator(expression: str) -> str:
    """Work out one sum, difference or product of whole numbers, such as `12+30`."""
    found = re.fullmatch(r"\s*(-?\d+)\s*([-+*])\s*(-?\d+)\s*", expression)
    if found is None:
        raise ToolError("write it as NUMBER+NUMBER, with +, - or *")  # the agent reads this, and of no other exception
    left, right = int(found[1]), int(found[3])
    return str({"+": left + right, "-": left - right, "*": left * right}[found[2]])


if __name__ == "__main__":
    server.run("stdio")  # stdout belongs to the protocol: print to stderr
