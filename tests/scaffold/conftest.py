"""The environment in which packages are installed and tried."""

from __future__ import annotations

import pytest

from tests.scaffold.venvs import Venv, make_venv

REQUIREMENTS = ("aworld-cli[test]", "aworld-arithmetic", "aworld-toolbox", "aworld-local")
TOOLS = ("pip", "hatchling", "mypy")


@pytest.fixture(scope="session")
def workbench(tmp_path_factory: pytest.TempPathFactory) -> Venv:
    """An environment that sees AWorld as it is here, and what plugin authors need."""
    return make_venv(tmp_path_factory.mktemp("workbench") / "venv", (*REQUIREMENTS, *TOOLS))
