"""docs/recipes.md: its recipe holds, its wrong one is told what the page says, and it names every variable."""

from __future__ import annotations

import re
from pathlib import Path

from aworld_cli.recipe.yaml12 import MAX_DEPTH, MAX_NODES, MAX_TEXT
from aworld_cli.settings.variables import KNOWN
from tests.conftest import Aworld

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text()


def test_the_recipes_and_what_is_told_of_them(aworld: Aworld, tmp_path: Path) -> None:
    (good,) = re.findall(r"```yaml\n(aworld: 1.*?)```", PAGE, re.DOTALL)
    (wrong,) = re.findall(r"```yaml\n(name: wrong.*?)```", PAGE, re.DOTALL)
    (child,) = re.findall(r"```yaml\n(extends:.*?)```", PAGE, re.DOTALL)
    (said,) = re.findall(r"```text\n(error:.*?)```", PAGE, re.DOTALL)
    for name, text in {"base": good, "wrong": wrong, "child": child}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    done = aworld("validate", "base.yaml", "child.yaml")
    assert done.stdout.splitlines() == ["base.yaml: ok", "child.yaml: ok"], done.stderr
    done = aworld("validate", "wrong.yaml")
    assert (done.returncode, done.stderr) == (4, said)


def test_the_config_file_holds(aworld: Aworld, tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "config.toml").write_text(text)
    (tmp_path / "r.yaml").write_text(re.findall(r"```yaml\n(aworld: 1.*?)```", PAGE, re.DOTALL)[0])
    done = aworld("config", "r.yaml", "--json", env={"AWORLD_HOME": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert '"key": "runtime.concurrency", "value": 16, "layer": "config"' in done.stdout
    local = "aworld: 1\nname: x\nenvironment: {kind: arithmetic}\nstages: [{eval: {split: test, tasks: 1}}]\n"
    (tmp_path / "r.yaml").write_text(f"{local}model: {{path: smollm2}}\n")
    done = aworld("config", "r.yaml", "--key", "model.threads", env={"AWORLD_HOME": str(tmp_path)})
    assert "config.toml:" in done.stdout, done.stderr


def test_every_variable_is_named() -> None:
    assert [name for name in KNOWN if name.replace("KEY__PATH", "") not in PAGE] == []


def test_limits_are_the_codes() -> None:
    text = " ".join(PAGE.split())
    assert f"{MAX_NODES:,} values, {MAX_TEXT // 10**6} million characters, {MAX_DEPTH} levels" in text
