"""`--dry-run`: what a run would do, with references where values come from the environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.doctor import run_python
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.loading import load_plan
from aworld_cli.run.masking import Mask
from aworld_cli.run.preview import preview
from tests.conftest import AddPlugin, Aworld

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
    process = next(process for process in shown["processes"] if process["name"] == "tool server server")
    assert process["command"] == expected
    assert shown["tools"][0]["timeouts"]["start"] == "${env:SECONDS} s"
    assert shown["endpoints"] == ["${env:BASE}", "https://api.openai.com/v1"]


def test_what_bounds_the_run_and_what_is_not_known(shown: dict[str, Any]) -> None:
    limits = shown["limits"]
    assert (limits["runtime.concurrency"], limits["runtime.attempts"], limits["runtime.episode_timeout"]) == (
        64,
        3,
        3600,
    )
    assert limits["model.request_timeout"] == 600 and limits["stages[0].eval.model.request_timeout"] == 600
    assert limits["agent.max_turns"] == 8 and limits["agent.max_seconds"] == "none"
    assert shown["tools"][0]["timeouts"] == {
        "start": "${env:SECONDS} s",
        "call": "120 s",
        "idle": "none: the server lives as long as the run",
    }
    assert shown["warnings"] == ["tool server server: the program server is not found"]
    assert (shown["gpus"], shown["ray"], shown["ports"]) == (0, "none", "none")
    unknown = "\n".join(shown["not checked"])
    assert "whether endpoints answer" in unknown and "model: whether ${env:BASE} takes the key" in unknown
    assert "does not say" not in unknown


def test_values_are_found_within_what_a_plugin_shows() -> None:
    mask = Mask({"a": "${env:KEY}", "b": "x-${env:SHORT}"}, {"KEY": 'qu"oted', "SHORT": "2"})
    assert mask.hide({"k": ('a=qu"oted', 'json="qu\\"oted"', "x-2", "x-23", 2, None)}) == {
        "k": ["a=${env:KEY}", 'json="${env:KEY}"', "x-${env:SHORT}", "x-23", 2, None]
    }
    assert Mask({"a": "${env:SPLIT}"}, {"SPLIT": "test"}).hide("test/tests") == "${env:SPLIT}/tests"
    assert mask.hide(Path("a/b")) == "a/b"
    assert Mask({"a": "plain"}, {}).hide("plain ${env:X}") == "plain ${env:X}"


SILENT = """
from aworld_cli.host import Component, hookimpl
from aworld_cli.resources import ProcessPlan, Resources
from pydantic import BaseModel, ConfigDict
aworld_api = 1
@hookimpl
def aworld_components():
    return [
        Component("model", "silent", "s", __name__ + ":silent", __name__ + ":Config"),
        Component("runtime", "talking", "t", __name__ + ":talking", __name__ + ":Config"),
    ]
class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")
    threads: int = 1
    wrong: bool = False
class Silent:
    name = "silent"
    async def start(self): raise AssertionError("started")
    async def close(self): pass
    async def complete(self, request): pass
class Talking:
    name = "talking"
    def __init__(self, config): self.config = config
    def resources(self):
        if self.config.wrong:
            return {}
        processes = (ProcessPlan("helper", ("help", "me"), count=2, threads=self.config.threads),)
        return Resources(processes, gpus=4, ray={"GPU": 4}, ports=("8000",), limits=("threads",))
def silent(config, context): return Silent()
def talking(config): return Talking(config)
"""
THEIRS = """\
aworld: 1
name: theirs
model: {kind: silent}
environment: {kind: arithmetic}
runtime: {kind: talking, threads: 4096}
stages:
  - eval: {split: test, tasks: 2, samples: 3, k: [1]}
"""


def test_what_third_parties_say_and_do_not_say(tmp_path: Path, add_plugin: AddPlugin, aworld: Aworld) -> None:
    add_plugin("theirs", SILENT)
    (tmp_path / "r.yaml").write_text(THEIRS)
    done = aworld("run", "r.yaml", "--dry-run", "--json", "--runs-dir", "there", "--max-errors", "2")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["settings"]["max_errors"], shown["run directory"]) == (2, "there/<UTC time>-theirs")
    assert shown["processes"] == [
        {"name": "helper", "count": 2, "command": "help me", "threads": 4096, "for": ["runtime"]}
    ]
    assert (shown["gpus"], shown["ray"]) == ({"runtime": 4}, {"runtime": {"GPU": 4}})
    assert shown["ports"] == {"runtime": ["8000"]} and shown["limits"]["runtime.threads"] == 4096
    assert "helper: 4096 threads compute" in shown["warnings"][0]
    assert "what silent (aworld-theirs 1.0) (model) starts and uses: it does not say" in shown["not checked"]
    effective = shown["stages"][0]["in effect"]
    assert effective["agent loop"].startswith("react (aworld-cli") and effective["weights"] == "the model's own"
    assert (shown["stages"][0]["episodes"], effective["tools"]) == (6, [])
    done = aworld("run", "r.yaml", "--dry-run", "--set", "runtime.wrong=true")
    assert done.returncode == 5 and "runtime 'talking' of aworld-theirs told its resources as a dict" in done.stderr
    assert not (tmp_path / "there").exists() and not (tmp_path / "runs").exists()


QUICKSTART = Path(__file__).parents[2] / "recipes" / "quickstart.yaml"
HEAVY = ("torch", "ray", "verl", "transformers", "numpy", "mcp", "aiohttp")


def test_the_quickstart_with_all_that_verl_is_told() -> None:
    code = f"""
import json, sys
from pathlib import Path
from aworld_cli.host.loader import load_plugins
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.loading import load_plan
from aworld_cli.run.preview import preview
second = "stages=[{{train: {{kind: verl, batch: 4, samples: 2}}}}, {{train: {{kind: verl, batch: 4, samples: 2}}}}]"
registry = Registry(load_plugins())
shown = [
    preview(load_plan(Path({str(QUICKSTART)!r}), registry, settings), whole=True)
    for settings in ([], [second, "sampling.max_tokens=16"])
]
print(json.dumps([shown, [name for name in {HEAVY!r} if name in sys.modules]]))
"""
    (first, twice), heavy = run_python(code)
    assert heavy == []
    stages = {stage["name"]: stage for stage in first["stages"]}
    assert stages["grpo"]["configuration"]["algorithm"]["adv_estimator"] == "grpo"
    assert stages["grpo"]["configuration"]["data"]["train_batch_size"] == 16
    assert "trainer.total_training_steps=14" in stages["grpo"]["verl"]
    assert stages["grpo"]["in effect"]["rollout backend"].startswith("aworld_cpu")
    weights = [stage.get("weights") or stage["in effect"]["weights"] for stage in first["stages"]]
    assert weights[:3] == ["the recipe's", "the model's own", "the recipe's"]
    assert weights[3:] == ["the checkpoint of sft", "the checkpoint of sft", "the checkpoint of grpo"]
    processes = {process["name"]: process for process in first["processes"]}
    assert processes["local worker"]["count"] == 1 and processes["local worker"]["for"] == ["model", "stage sft"]
    assert processes["tool server calculator"]["count"] == 2
    assert (processes["verl driver"]["count"], first["gpus"]) == (1, 0)
    assert next(process for process in twice["processes"] if process["name"] == "verl driver")["count"] == 2


def test_a_wrong_verl_configuration_is_told(aworld: Aworld) -> None:
    done = aworld("run", QUICKSTART, "--dry-run", "--set", "stages.grpo.overrides={trainer.nope: 1}")
    assert done.returncode == 4 and "verl has no setting 'trainer.nope'" in done.stderr
    done = aworld("run", QUICKSTART, "--dry-run")
    assert done.returncode == 0
    assert "configuration: made and checked; --json shows all of it" in done.stdout
