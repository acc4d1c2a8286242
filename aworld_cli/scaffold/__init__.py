"""New plugin packages: what `aworld plugins new` writes, from templates that are real, tested code."""

from aworld_cli.scaffold.naming import Names, name_plugin
from aworld_cli.scaffold.writer import render, write_package

__all__ = ["Names", "name_plugin", "render", "write_package"]
