"""The driver: real GRPO with verl on a random tiny model, resumed, and clean-up after a SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

_HERE = Path(__file__).parent
_MODEL = """
import sys, torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from tokenizers import Tokenizer, models
torch.manual_seed(0)
words = {"<pad>": 0, "<end>": 1, "<begin>": 2, **{f"w{i}": i for i in range(3, 64)}}
names = {"eos_token": "<end>", "bos_token": "<begin>", "pad_token": "<pad>"}
PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel(words)), **names).save_pretrained(sys.argv[1])
LlamaForCausalLM(LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
    max_position_embeddings=128, tie_word_embeddings=False, eos_token_id=1, bos_token_id=2, pad_token_id=0,
)).save_pretrained(sys.argv[1])
"""
_LOAD = """
import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
model, start = (AutoModelForCausalLM.from_pretrained(p) for p in sys.argv[1:])
AutoTokenizer.from_pretrained(sys.argv[1])
assert model.dtype == torch.float32
pairs = zip(model.state_dict().items(), start.state_dict().values(), strict=True)
assert all(a.isfinite().all() and not torch.equal(a, b) for (n, a), b in pairs if "norm" not in n)
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    subprocess.run([sys.executable, "-c", _MODEL, str(path)], check=True, capture_output=True, timeout=120)
    return path


class Driver:
    """A driver process with its events."""

    def __init__(self, log: Path) -> None:
        read, write = os.pipe()
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "aworld_verl.driver", "--events-fd", str(write)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=[write],
                env={**os.environ, "PYTHONPATH": str(_HERE)},
            )
        os.close(write)
        self.events = os.fdopen(read)

    def send(self, settings: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(settings).encode() + b"\n")
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.events.readline() or '{"event": "end"}')
        return event

    def rest(self) -> list[dict[str, Any]]:
        events = [json.loads(line) for line in self.events]
        self.close()
        return events

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.events.close()


def settings(tmp_path: Path, model: Path, **changes: Any) -> dict[str, Any]:
    tasks = tmp_path / "tasks.json"
    tasks.write_text(json.dumps([f"task{i}" for i in range(12)]))
    given = {"model_path": str(model), "tasks_file": str(tasks), "out_dir": str(tmp_path / "out")}
    sizes = {"steps": 2, "batch": 4, "mini_batch": 2, "samples": 4, "lr": 1e-2, "seed": 3}
    return {**given, **sizes, "source": "toy_source:ToySource", **changes}


def belongings(driver: psutil.Process) -> tuple[list[psutil.Process], list[Path]]:
    """All processes that the driver has started, directly or not, and its scratch directories."""
    processes = driver.children(recursive=True)
    [guardian] = [p for p in processes if "guardian.py" in " ".join(p.cmdline())]
    return processes, [Path(directory) for directory in guardian.cmdline()[-2:]]


def test_two_steps_then_resume_to_the_third(tmp_path: Path, model: Path) -> None:
    """Also proves each weight hand-over: the driver compares SHA-256 of the engine with the trainer's."""
    log = tmp_path / "log"
    first = Driver(log)
    first.send(settings(tmp_path, model))
    events = first.rest()
    assert [event["event"] for event in events] == ["ready", "step", "step", "done"], log.read_text()[-3000:]
    assert first.process.returncode == 0
    assert [(event["step"], event["of"]) for event in events[1:3]] == [(1, 2), (2, 2)]
    assert {"generate", "update", "sync", "step"} <= events[1]["seconds"].keys()
    assert events[1]["metrics"]["episode/samples"] == 16
    assert events[1]["reward"] == pytest.approx(events[1]["metrics"]["episode/even"])
    assert events[1]["metrics"]["actor/grad_norm"] > 0
    checkpoint = events[3]["checkpoint"]
    subprocess.run([sys.executable, "-c", _LOAD, checkpoint, str(model)], check=True, timeout=120)

    second = Driver(log)
    failing = {"fail_tasks": ["task0", "task1", "task2"]}
    second.send(settings(tmp_path, model, steps=4, source_settings=failing))
    events = second.rest()
    assert [event.get("step") for event in events] == [None, 3, 4, None], log.read_text()[-3000:]
    failed = [event["metrics"]["episode/failed_groups"] for event in events[1:3]]
    assert sum(failed) > 0
    assert [event["metrics"]["episode/samples"] for event in events[1:3]] == [16 - 4 * n for n in failed]


def test_all_episodes_failing_is_one_clear_error(tmp_path: Path, model: Path) -> None:
    driver = Driver(tmp_path / "log")
    driver.send(settings(tmp_path, model, source_settings={"fail_tasks": [f"task{i}" for i in range(12)]}))
    events = driver.rest()
    assert events[-1]["event"] == "error"
    assert "OSError: the tool server died" in events[-1]["message"]
    assert driver.process.returncode == 1


def test_nothing_stays_after_the_driver_is_killed(tmp_path: Path, model: Path) -> None:
    driver = Driver(tmp_path / "log")
    driver.send(settings(tmp_path, model, steps=500))
    while driver.next()["event"] not in ("step", "error", "end"):
        pass
    processes, directories = belongings(psutil.Process(driver.process.pid))
    assert len(processes) > 8
    assert all(directory.is_dir() for directory in directories)
    os.kill(driver.process.pid, signal.SIGKILL)
    driver.close()
    _, alive = psutil.wait_procs(processes, timeout=15)
    assert not alive
    deadline = time.monotonic() + 15
    while any(directory.exists() for directory in directories):
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("victim", ["ray::WorkerDict", "TransferQueueController"])
def test_a_killed_worker_ends_the_run_at_once(victim: str, tmp_path: Path, model: Path) -> None:
    driver = Driver(tmp_path / "log")
    driver.send(settings(tmp_path, model, steps=500))
    while driver.next()["event"] not in ("step", "error", "end"):
        pass
    processes, directories = belongings(psutil.Process(driver.process.pid))
    [worker] = [process for process in processes if victim in " ".join(process.cmdline())]
    worker.kill()
    events = driver.rest()
    assert events[-1]["event"] == "error" and "a worker was killed (signal 9)" in events[-1]["message"]
    assert driver.process.returncode == 1
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
    assert not [directory for directory in directories if directory.exists()]


def test_killed_while_it_loads_it_leaves_no_directory(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "log")
    own = psutil.Process(driver.process.pid)
    end = time.monotonic() + 20
    while not any("guardian.py" in " ".join(child.cmdline()) for child in own.children()):
        assert time.monotonic() < end
        time.sleep(0.01)
    processes, directories = belongings(own)
    assert all(directory.exists() for directory in directories)
    driver.process.kill()
    driver.close()
    psutil.wait_procs(processes, timeout=10)
    assert not [directory for directory in directories if directory.exists()]


def test_closing_stdin_before_the_settings_ends_it_quietly(tmp_path: Path) -> None:
    driver = Driver(tmp_path / "log")
    assert driver.next() == {"event": "ready"}
    _, directories = belongings(psutil.Process(driver.process.pid))
    driver.close()
    assert driver.process.returncode == 0
    deadline = time.monotonic() + 15
    while any(directory.exists() for directory in directories):
        assert time.monotonic() < deadline
        time.sleep(0.1)
