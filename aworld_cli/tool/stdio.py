"""The built-in tool `stdio`: any MCP server that is a program speaking stdio."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from aworld_cli.recipe import NamedValue
from aworld_cli.tool.base import StdioServer


class StdioConfig(BaseModel):
    """Options of `tools: [{kind: stdio, ...}]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: str = Field(min_length=1, description="The program.")
    args: tuple[str, ...] = Field((), description="Its arguments.")
    env: dict[str, NamedValue] = Field(
        default_factory=dict,
        description="Its environment, beside HOME, LOGNAME, PATH, SHELL, TERM and USER; nothing else is passed on. "
        "A secret is written ${env:NAME}.",
    )
    cwd: str | None = Field(None, description="The directory it starts in.")
    name: str | None = Field(
        None, pattern=r"^[A-Za-z0-9_.-]+$", description="What messages and logs call it; the program's name if absent."
    )
    start_timeout: float = Field(30, gt=0, description="Seconds from its start to its first answer.")
    call_timeout: float = Field(120, gt=0, description="Seconds that one call may take.")


def stdio(config: StdioConfig) -> StdioServer:
    """Make the server's description."""
    return StdioServer(
        name=config.name or Path(config.command).name,
        command=config.command,
        args=config.args,
        env={key: value.get_secret_value() for key, value in config.env.items()},
        cwd=config.cwd,
        start_timeout=config.start_timeout,
        call_timeout=config.call_timeout,
    )
