"""Stands where verl's load balancer stands, when the only policy is in the trainer's own process."""

from __future__ import annotations

from typing import Any


class NoRouter:
    """Accepts servers and balances nothing; its actor imports neither verl nor torch."""

    def __init__(self, servers: dict[str, Any], settings: dict[str, Any]) -> None:
        self._servers = servers
        self._settings = settings

    def get_all_servers(self) -> dict[str, Any]:
        """The servers that verl announced."""
        return self._servers
