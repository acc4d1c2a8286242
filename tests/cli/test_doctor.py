"""`aworld doctor` as a person and as a program sees it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import AddPlugin, Aworld

#: The checks of these load PyTorch and verl; they have tests of their own.
LIGHT = ("--disable-plugin", "local", "--disable-plugin", "verl")
RECIPE = """\
aworld: 1
name: test
model: {kind: openai, model: m, base_url: "${env:TEST_BASE}", api_key: "${env:TEST_KEY}"}
tools: [{kind: calculator}, {kind: stdio, command: no-such-program, name: other}]
environment: {kind: arithmetic}
stages:
  - eval: {split: test, tasks: 2}
"""
GOOD = RECIPE.replace(", {kind: stdio, command: no-such-program, name: other}", "")

Doctor = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def doctor(aworld: Aworld, tmp_path: Path) -> Doctor:
    """Run `aworld doctor --json` on a recipe's text; return the exit code and the object."""

    def run(recipe: str | None = None, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, Any]:
        (tmp_path / "r.yaml").write_text(recipe or "")
        given = ["r.yaml"] if recipe is not None else []
        done = aworld("doctor", *given, "--json", *LIGHT, *arguments, env=env)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr

    return run


@pytest.fixture
def endpoint() -> Iterator[str]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def named(shown: dict[str, Any]) -> dict[str, Any]:
    return {check["name"]: check for check in shown["checks"]}


def test_a_machine_without_a_recipe(doctor: Doctor, tmp_path: Path) -> None:
    code, shown = doctor(env={"OPENAI_API_KEY": "sk-very-secret"})
    assert code == 0
    checks = named(shown)
    assert {"python", "script", "config", "torch", "cuda", "ray", "sglang", "sandbox", "browser", "mcp"} <= set(checks)
    assert "local engine" not in checks
    assert all(set(check) == {"name", "status", "detail", "remedy", "required"} for check in shown["checks"])
    assert not any(check["required"] for check in shown["checks"])
    assert all(check["remedy"] for check in shown["checks"] if check["status"] != "ok")
    assert "very-secret" not in json.dumps(shown)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.yaml"]


def test_a_recipe_that_could_run_here(doctor: Doctor, endpoint: str) -> None:
    code, shown = doctor(GOOD, env={"TEST_BASE": endpoint, "TEST_KEY": "sk-very-secret"})
    checks = named(shown)
    assert (code, shown["ok"]) == (0, True), shown
    assert checks["endpoint"]["detail"] == "${env:TEST_BASE} accepts connections"
    assert {name for name, check in checks.items() if check["required"]} >= {
        *("variable TEST_BASE", "variable TEST_KEY", "recipe", "weights", "tool calculator", "endpoint"),
        *("python", "config", "runs directory", "mcp"),
    }
    assert not checks["cuda"]["required"] and not checks["sandbox"]["required"]
    text = json.dumps(shown)
    assert "very-secret" not in text and endpoint not in text


def test_everything_that_a_recipe_lacks_comes_at_once(doctor: Doctor) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    env = {"TEST_BASE": closed, "AWORLD_RUNS_DIR": "/proc/1/runs"}
    code, shown = doctor(RECIPE, env=env)
    bad = {name for name, check in named(shown).items() if check["required"] and check["status"] == "error"}
    assert (code, shown["ok"]) == (6, False)
    assert bad == {"variable TEST_KEY", "tool other", "endpoint", "runs directory", "disk"}
    assert "export TEST_KEY=..." in named(shown)["variable TEST_KEY"]["remedy"]


def test_a_variable_without_which_the_rest_makes_no_sense(doctor: Doctor) -> None:
    code, shown = doctor(GOOD, env={"TEST_KEY": "k"})
    checks = named(shown)
    assert code == 6 and checks["variable TEST_BASE"]["status"] == "error"
    assert checks["recipe"]["status"] == "unknown" and "before TEST_BASE is set" in checks["recipe"]["detail"]


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (("tasks: 2", "tusks: 2"), 4, "did you mean 'tasks'?"),
        (("split: test", "split: dev"), 4, "the environment has no split 'dev'"),
        (("kind: arithmetic", "kind: arithmatic"), 5, "no environment is called 'arithmatic'"),
        (("kind: arithmetic", "kind: ["), 4, "r.yaml:"),
    ],
)
def test_a_broken_recipe(change: tuple[str, str], code: int, said: str, doctor: Doctor, endpoint: str) -> None:
    text = GOOD.replace("tools: [{kind: calculator}]\n", "").replace(*change)
    got, shown = doctor(text, "--disable-plugin=toolbox", env={"TEST_BASE": endpoint, "TEST_KEY": "k"})
    recipe = named(shown)["recipe"]
    assert (got, shown["ok"], recipe["status"]) == (code, False, "error")
    assert said in recipe["detail"] and recipe["remedy"]
    assert "python" in named(shown)


def test_settings_change_the_recipe(doctor: Doctor, endpoint: str) -> None:
    env = {"TEST_BASE": endpoint, "TEST_KEY": "k"}
    assert doctor(GOOD, "--set", "stages.eval.split=nope", env=env)[0] == 4
    assert doctor(RECIPE, "--set", "tools=[]", env=env)[0] == 0
    code, said = doctor(None, "--set", "a=1")
    assert code == 2 and "--set changes a recipe" in str(said)


def test_weights_that_are_not_there(aworld: Aworld, tmp_path: Path) -> None:
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "torch.py").write_text("raise ImportError('libgomp.so.1 is missing')")
    recipe = GOOD.replace(RECIPE.splitlines()[2], "model: {kind: local, path: ./nothere}")
    (tmp_path / "r.yaml").write_text(recipe)
    done = aworld("doctor", "r.yaml", "--json", "--disable-plugin", "verl", env={"PYTHONPATH": str(shadow)})
    checks = named(json.loads(done.stdout))
    assert done.returncode == 6
    assert checks["weights"]["status"] == "error" and "./nothere: no Hugging Face model" in checks["weights"]["detail"]
    assert checks["local engine"]["required"] and "libgomp.so.1 is missing" in checks["local engine"]["detail"]


GPUS = """
from aworld_cli.host import Check, Component, hookimpl
from aworld_cli.doctor import Finding
from aworld_cli.resources import Resources
from pydantic import BaseModel
aworld_api = 1
print("a plugin prints")
@hookimpl
def aworld_components():
    return [Component("model", "mine", "mine", __name__ + ":model", __name__ + ":Config")]
@hookimpl
def aworld_checks():
    return [
        Check("mine", "mine", __name__ + ":check"),
        Check("crash", "crash", __name__ + ":crash"),
        Check("exit", "exit", __name__ + ":leave"),
    ]
class Config(BaseModel):
    pass
class Model:
    name = "mine"
    def resources(self):
        return Resources(gpus=2)
def model(config, context):
    return Model()
def check():
    print("a check prints")
    return Finding("missing", "my program is not there", "install it")
def crash():
    raise ValueError("oops")
def leave():
    import sys
    sys.exit(0)
"""


def test_a_plugins_checks_its_gpus_and_its_faults(add_plugin: AddPlugin, aworld: Aworld, tmp_path: Path) -> None:
    add_plugin("mine", GPUS)
    (tmp_path / "r.yaml").write_text(GOOD.replace(RECIPE.splitlines()[2], "model: {kind: mine}"))
    programs = tmp_path / "programs"
    programs.mkdir()
    smi = programs / "nvidia-smi"
    smi.write_text("#!/bin/sh\nexit 0\n")
    smi.chmod(0o755)
    env = {"PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    done = aworld("doctor", "r.yaml", "--json", *LIGHT, env=env)
    checks = named(json.loads(done.stdout))
    assert done.returncode == 6 and "a check prints" in done.stderr
    assert checks["mine"] == {
        **{"name": "mine", "status": "missing", "detail": "my program is not there"},
        **{"remedy": "install it", "required": True},
    }
    assert checks["crash"]["status"] == "unknown" and "ValueError: oops" in checks["crash"]["detail"]
    assert checks["exit"]["status"] == "unknown"
    assert checks["gpus"]["status"] == "error" and checks["gpus"]["detail"].startswith("2 wanted: NVIDIA's driver")
    done = aworld("doctor", "r.yaml", *LIGHT, env=env)
    assert done.returncode == 6
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("missing  needed  mine "))
    assert lines[at].endswith("my program is not there") and lines[at + 1] == "         -> install it"
    assert lines[-1] == "r.yaml cannot run here: mine, gpus"
    assert "a check prints" not in done.stdout and "a plugin prints" not in done.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_what_checks_started_ends_with_doctor(number: signal.Signals, code: int, tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/started\nexec sleep 60\n")
    node.chmod(0o755)
    path = os.pathsep.join([str(tmp_path), os.environ["PATH"]])
    command = [sys.executable, "-m", "aworld_cli", "doctor", "--no-plugins"]
    with subprocess.Popen(command, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, cwd=tmp_path) as process:
        while not (tmp_path / "started").is_file() or not (tmp_path / "started").read_text().strip():
            assert process.poll() is None
            time.sleep(0.02)
        child = psutil.Process(int((tmp_path / "started").read_text()))
        process.send_signal(number)
        process.communicate(timeout=10)
    assert process.returncode == code
    psutil.wait_procs([child], timeout=5)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_without_a_recipe_a_fault_costs_a_line_and_no_exit_code(
    add_plugin: AddPlugin, aworld: Aworld, tmp_path: Path
) -> None:
    add_plugin("bad", "import no_such_module")
    (tmp_path / "aworld").mkdir()
    (tmp_path / "aworld" / "config.toml").write_text("max_error = 3\n")
    done = aworld("doctor", "--json", *LIGHT, env={"XDG_CONFIG_HOME": str(tmp_path)})
    shown = json.loads(done.stdout)
    checks = named(shown)
    assert (done.returncode, shown["ok"]) == (0, False)
    assert checks["plugin bad"]["status"] == "error" and "No module named" in checks["plugin bad"]["detail"]
    assert checks["config"]["status"] == "error" and "max_errors" in checks["config"]["detail"]
    done = aworld("doctor", "--no-plugins")
    assert done.returncode == 0 and done.stdout.splitlines()[0].startswith("ok       aworld ")
