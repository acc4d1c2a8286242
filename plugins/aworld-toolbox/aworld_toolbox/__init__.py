"""AWorld's toolbox: MCP servers that give agents tools."""
