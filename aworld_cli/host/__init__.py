"""The plugin host: what a plugin module imports, and nothing heavier than pluggy."""

from aworld_cli.host.component import API_VERSION, KINDS, Check, Command, Component, Kind
from aworld_cli.host.hooks import hookimpl

__all__ = ["API_VERSION", "KINDS", "Check", "Command", "Component", "Kind", "hookimpl"]
