"""The toolbox as an AWorld plugin."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import aworld_toolbox
from aworld_toolbox import plugin, tools


def load(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def test_it_offers_the_calculator() -> None:
    (component,) = plugin.aworld_components()
    assert plugin.aworld_api == 1
    assert (component.kind, component.name) == ("tool", "calculator")
    assert load(component.factory) is tools.calculator
    assert load(component.config) is tools.CalculatorConfig


def test_the_calculator_is_one_shared_process() -> None:
    server = tools.calculator(tools.CalculatorConfig(start_timeout=5, call_timeout=7))
    assert (server.name, server.command, server.scope) == ("calculator", sys.executable, "shared")
    assert server.args == ("-P", "-m", "aworld_toolbox.calculator")
    assert (server.start_timeout, server.call_timeout) == (5, 7)


@pytest.mark.parametrize("options", [{"digits": 3}, {"call_timeout": 0}, {"start_timeout": "soon"}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        tools.CalculatorConfig(**options)


def test_every_option_is_described() -> None:
    assert all(field.description for field in tools.CalculatorConfig.model_fields.values())


def test_the_entry_point_names_the_plugin() -> None:
    text = (Path(aworld_toolbox.__file__).parents[1] / "pyproject.toml").read_text()
    assert '[project.entry-points.aworld]\ntoolbox = "aworld_toolbox.plugin"' in text
