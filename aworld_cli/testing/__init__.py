"""What plugin authors test their plugins with.

    from aworld_cli.testing import Conformance

    kit = Conformance("my-plugin")

    @pytest.mark.parametrize("check", kit.checks(), ids=str)
    def test_conformance(check):
        check()

`pytest_plugins = ["aworld_cli.testing.fixtures"]` in a conftest.py gives the fixtures `model_server`, `run_directory`
and `scripted_model`. Needs `pip install 'aworld-cli[testing]'`.
"""

from aworld_cli.testing.check import Check
from aworld_cli.testing.conformance import Conformance

__all__ = ["Check", "Conformance"]
