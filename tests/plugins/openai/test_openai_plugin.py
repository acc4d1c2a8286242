"""The plugin as the host sees it, and the recipe that uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aworld_cli.host import API_VERSION
from aworld_cli.host.loader import Plugin
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import read_document
from aworld_cli.recipe.environment import resolve_environment
from aworld_cli.recipe.schema import EvalStage, Recipe
from aworld_openai import plugin
from aworld_openai.config import OpenAIConfig
from aworld_openai.model import openai

RECIPE = Path(__file__).parents[3] / "recipes" / "openai-rollout.yaml"


def test_the_component_leads_to_its_options_and_its_factory() -> None:
    assert plugin.aworld_api == API_VERSION
    loaded = Plugin("openai", "aworld-openai", "0.1.0", "ok", "", tuple(plugin.aworld_components()))
    found = Registry([loaded]).find("model", "openai")
    assert found.config_model() is OpenAIConfig
    assert found.factory() is openai


@pytest.mark.parametrize("module", ["aworld_openai.plugin", "aworld_openai.config", "aworld_openai.model"])
def test_nothing_heavy_is_imported_before_a_model_starts(module: str) -> None:
    code = f"import sys, {module}; print([name for name in ('aiohttp', 'openai', 'httpx') if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_recipe_holds_with_only_a_key_set() -> None:
    value, problems = resolve_environment(read_document(RECIPE), {"OPENAI_API_KEY": "sk-abcdef"})
    assert problems == []
    recipe = Recipe.model_validate(value)
    config = OpenAIConfig(**recipe.model.options)
    assert (recipe.model.kind, config.base_url, config.model) == ("openai", "https://api.openai.com/v1", "gpt-4o-mini")
    assert [tool.kind for tool in recipe.tools] == ["calculator"]
    assert (recipe.environment.kind, recipe.environment.options) == ("arithmetic", {"digits": 3})
    assert (recipe.runtime.kind, recipe.runtime.options) == ("local", {"concurrency": 64})
    stage = EvalStage.model_validate(recipe.stages[0]["eval"])
    assert (stage.split, stage.tasks, stage.samples, stage.k) == ("test", 64, 1, (1,))


def test_the_recipe_without_a_key_names_the_variable() -> None:
    _, problems = resolve_environment(read_document(RECIPE), {})
    assert len(problems) == 1
    _, problem = problems[0]
    assert problem.key == "model.api_key"
    assert "OPENAI_API_KEY is not set" in problem.message
