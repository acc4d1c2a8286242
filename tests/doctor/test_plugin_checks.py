"""The plugins' own checks. verl hides what goes wrong with the plugins that it loads; the check must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from aworld_local import checks as local_checks
from aworld_toolbox import checks as toolbox_checks
from aworld_verl import checks as verl_checks


def test_local_engine() -> None:
    found = local_checks.engine()
    assert found.status == "ok" and "Transformers" in found.detail


def test_mcp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert toolbox_checks.mcp().status == "ok"
    (tmp_path / "mcp.py").write_text("raise ImportError('half installed')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = toolbox_checks.mcp()
    assert found.status == "error" and "half installed" in found.detail and "pip install" in found.remedy


def test_verl_runs_on_our_platform() -> None:
    found = verl_checks.platform()
    assert found.status == "ok" and "our CPU platform" in found.detail, found


HIDES = """
import sys
class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "aworld_verl.cpu.platform":
            raise ImportError("a library of the platform is missing")
sys.meta_path.insert(0, Broken())
"""


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        (("VERL_USE_EXTERNAL_PLUGINS", "none"), "verl is told not to load it: VERL_USE_EXTERNAL_PLUGINS=none"),
        (("PYTHONPATH", ""), "ImportError: a library of the platform is missing"),
    ],
)
def test_what_verl_hides_is_told(
    variable: tuple[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDES)
    monkeypatch.setenv(variable[0], variable[1] or str(tmp_path))
    found = verl_checks.platform()
    assert found.status == "error" and said in found.detail, found
    assert "aworld-verl" in found.remedy


def test_the_versions_that_the_trainer_was_run_with(monkeypatch: pytest.MonkeyPatch) -> None:
    assert dict(verl_checks.pins())["verl"] and "ray" in dict(verl_checks.pins())
    assert verl_checks.versions().status == "ok"
    monkeypatch.setattr(verl_checks, "pins", lambda: [("ray", "1.0"), ("no-such-thing", "2.0")])
    found = verl_checks.versions()
    assert found.status == "error" and "not 1.0; no-such-thing 2.0 is not installed" in found.detail
    assert found.remedy == "pip install ray==1.0 no-such-thing==2.0"
