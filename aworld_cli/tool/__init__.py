"""Tools: MCP servers, and the set of them that an agent may call."""

from aworld_cli.tool.base import StdioServer, ToolResult, ToolSpec

__all__ = ["StdioServer", "ToolResult", "ToolSpec"]
