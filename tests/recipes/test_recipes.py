"""Every recipe that the repository shows is one: those in recipes/, and those in its pages."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.testing.model_server import FakeModelServer
from aworld_cli.trajectory.message import Message, ToolCall
from tests.conftest import Aworld

ROOT = Path(__file__).parents[2]
RECIPES = sorted((ROOT / "recipes").glob("*.yaml"))
PAGES = sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md")) + sorted(ROOT.glob("plugins/*/README.md"))
SHOWN = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    if block.startswith("aworld: 1") and "kind: dice" not in block  # tests/scaffold builds that plugin and runs it
]
DUMMIES = {"OPENAI_API_KEY": "sk-dummy"}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_of_ours_validates(recipe: Path, aworld: Aworld) -> None:
    done = aworld("validate", recipe, env=DUMMIES)
    if recipe.stem == "smollm2-rollout" and done.returncode == 6:  # the model may not have been fetched
        assert len(done.stderr.splitlines()) == 1 and "aworld models fetch smollm2" in done.stderr
        return
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{recipe}: ok\n", "")


def test_the_readme_shows_a_whole_recipe() -> None:
    assert [case for case in SHOWN if str(case.id).startswith("README.md")]


@pytest.mark.parametrize("block", SHOWN)
def test_a_recipe_on_a_page_validates(block: str, tmp_path: Path, aworld: Aworld) -> None:
    (tmp_path / "shown.yaml").write_text(block)
    done = aworld("validate", "shown.yaml", env=DUMMIES)
    assert (done.returncode, done.stderr) == (0, "")


def by_calculator(messages: list[dict[str, Any]], seed: int) -> str | Message:
    """Call the calculator with the task, then answer with its result."""
    last = messages[-1]
    if last["role"] == "tool":
        return str(last["content"])
    return Message("assistant", "", (ToolCall("c1", "calculator", {"expression": last["content"].rstrip("=")}),))


def test_the_openai_recipe_runs(tmp_path: Path, aworld: Aworld) -> None:
    with FakeModelServer(by_calculator, models=["scripted"], api_key="sk-dummy") as server:
        env = {**DUMMIES, "OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "scripted"}
        done = aworld("run", ROOT / "recipes/openai-rollout.yaml", "--json", env=env)
    assert done.returncode == 0, done.stderr
    (stage,) = json.loads(done.stdout)["stages"]
    assert stage["counts"]["correct"] == stage["counts"]["selected"] == 64
    assert server.counters.requests == 128
    (journal,) = tmp_path.glob("runs/*/stages/*/trajectories.jsonl")
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert Counter(sum(turn["tool_calls"] for turn in record["turns"]) for record in records) == {1: 64}
