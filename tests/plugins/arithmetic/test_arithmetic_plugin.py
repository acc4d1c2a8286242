"""The plugin module: light to import, and what it names is there."""

from __future__ import annotations

import importlib
import subprocess
import sys

from pydantic import BaseModel

from aworld_arithmetic import plugin


def test_every_component_can_be_loaded() -> None:
    for component in plugin.aworld_components():
        for reference in (component.factory, component.config):
            module, _, attribute = reference.partition(":")
            assert hasattr(importlib.import_module(module), attribute)
        module, _, attribute = component.config.partition(":")
        config = getattr(importlib.import_module(module), attribute)
        assert issubclass(config, BaseModel)
        assert all(field.description for field in config.model_fields.values())


def test_the_plugin_imports_nothing_of_itself() -> None:
    code = "import aworld_arithmetic.plugin, sys; print(*[m for m in sys.modules if m.startswith('aworld_arithmetic')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["aworld_arithmetic", "aworld_arithmetic.plugin"]
