"""The toolbox's tools as recipes configure them: each becomes an MCP server that AWorld starts."""

import sys
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from aworld_cli.tool import StdioServer


class CalculatorConfig(BaseModel):
    """Options of the tool `calculator`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    start_timeout: float = Field(30, gt=0, description="Seconds that the server may take to start.")
    call_timeout: float = Field(120, gt=0, description="Seconds that one call may take.")


def calculator(config: CalculatorConfig, context: object = None) -> "StdioServer":
    """The calculator's server: stateless, so one process serves every episode."""
    from aworld_cli.tool import StdioServer

    return StdioServer(
        name="calculator",
        command=sys.executable,
        args=("-P", "-m", "aworld_toolbox.calculator"),  # -P: a user's files must not hide modules
        start_timeout=config.start_timeout,
        call_timeout=config.call_timeout,
        scope="shared",
    )
