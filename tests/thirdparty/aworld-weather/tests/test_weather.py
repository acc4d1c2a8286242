"""The conformance kit, and a recipe with all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from aworld_cli.testing import Check, Conformance

kit = Conformance("aworld-weather", recipe=Path(__file__).parents[1] / "recipe.yaml")


@pytest.mark.parametrize("check", kit.checks(), ids=str)
def test_conformance(check: Check) -> None:
    check()
