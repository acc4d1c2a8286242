"""`--dry-run` shows references, never what they stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.loading import load_plan
from aworld_cli.run.masking import Mask
from aworld_cli.run.preview import preview

RECIPE = """\
aworld: 1
name: "${env:NAME}"
seed: "${env:SEED}"
model:
  kind: openai
  model: "${env:MODEL}"
  base_url: "${env:BASE}"
  api_key: "${env:KEY}"
  headers: {X-Title: tests, Authorization: "Bearer ${env:KEY}"}
  extra_body: {deep: [{user: "${env:USER_ID}"}]}
tools:
  - kind: stdio
    command: server
    args: ["-n", "${env:SHORT}", "--key=${env:KEY}", "--flag=${env:SHORT}", "--other=${env:UNSET:-fallback}"]
    env: {LANG: C, MY_TOKEN: "${env:KEY}"}
    start_timeout: "${env:SECONDS}"
environment: {kind: arithmetic, digits: "${env:SHORT}"}
sampling: {temperature: "${env:HEAT}"}
stages:
  - eval: {split: "${env:SPLIT}", tasks: 4, model: {kind: openai, model: other, api_key: "${env:KEY}"}}
"""
VARIABLES = {
    "NAME": "hidden-name",
    "SEED": "77123",
    "MODEL": "hidden-model",
    "BASE": "http://hidden.example/v1/",
    "KEY": " sk-hidden-key ",
    "USER_ID": "hidden-user",
    "SHORT": "2",
    "SECONDS": "31.25",
    "HEAT": "0.625",
    "SPLIT": "test",
}


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "r.yaml"
    path.write_text(RECIPE)
    return preview(load_plan(path, Registry(load_plugins())))


def test_what_comes_from_the_environment_shows_as_its_reference(shown: dict[str, Any]) -> None:
    text = json.dumps(shown)
    assert "hidden" not in text and "77123" not in text and "31.25" not in text and "0.625" not in text
    assert (shown["recipe"], shown["seed"]) == ("${env:NAME}", "${env:SEED}")
    model = shown["model"]
    assert (model["model"], model["base_url"], model["api_key"]) == ("${env:MODEL}", "${env:BASE}", "${env:KEY}")
    assert model["headers"] == {"X-Title": "tests", "Authorization": "Bearer ${env:KEY}"}
    assert model["extra_body"] == {"deep": [{"user": "${env:USER_ID}"}]}
    tool = shown["tools"][0]
    assert tool["env"] == {"LANG": "C", "MY_TOKEN": "${env:KEY}"}
    assert tool["start_timeout"] == "${env:SECONDS}"
    assert shown["environment"]["digits"] == "${env:SHORT}"
    assert shown["sampling"]["temperature"] == "${env:HEAT}"
    stage = shown["stages"][0]
    assert (stage["split"], stage["model"]["api_key"]) == ("${env:SPLIT}", "${env:KEY}")


def test_a_process_line_shows_references_too(shown: dict[str, Any]) -> None:
    expected = "server -n ${env:SHORT} --key=${env:KEY} --flag=${env:SHORT} --other=${env:UNSET:-fallback}"
    assert shown["tools"][0]["process"] == expected


def test_values_are_found_within_what_a_plugin_shows() -> None:
    mask = Mask({"a": "${env:KEY}", "b": "x-${env:SHORT}"}, {"KEY": 'qu"oted', "SHORT": "2"})
    assert mask.hide({"k": ('a=qu"oted', 'json="qu\\"oted"', "x-2", "x-23", 2, None)}) == {
        "k": ["a=${env:KEY}", 'json="${env:KEY}"', "x-${env:SHORT}", "x-23", 2, None]
    }
    assert Mask({"a": "${env:SPLIT}"}, {"SPLIT": "test"}).hide("test/tests") == "${env:SPLIT}/tests"
    assert mask.hide(Path("a/b")) == "a/b"
    assert Mask({"a": "plain"}, {}).hide("plain ${env:X}") == "plain ${env:X}"
