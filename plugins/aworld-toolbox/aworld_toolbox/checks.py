"""What `aworld doctor` looks at for this plugin."""

from aworld_cli.doctor import Finding, ProbeError, run_python

_CODE = "import importlib.metadata, json, mcp.server; print(json.dumps(importlib.metadata.version('mcp')))"


def mcp() -> Finding:
    """Whether the MCP SDK, which every server of the toolbox is built on, loads."""
    try:
        version = run_python(_CODE)
    except ProbeError as error:
        return Finding("error", f"the MCP SDK does not load: {error}", "pip install --force-reinstall 'mcp>=2.3,<3'")
    return Finding("ok", f"MCP SDK {version} loads")
