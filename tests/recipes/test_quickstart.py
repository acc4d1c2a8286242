"""The quickstart for real, only smaller: a real MCP server, real SFT, real GRPO by verl, killed and resumed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import Aworld

RECIPE = Path(__file__).parents[2] / "recipes" / "quickstart.yaml"
SMALL = {
    "stages.eval-base.tasks": 8,
    "stages.teacher.tasks": 64,
    "stages.sft.steps": 40,
    "stages.eval-sft.tasks": 16,
    "stages.eval-grpo.tasks": 16,
    "stages.grpo.steps": 3,
    "stages.grpo.save_every": 1,
    "stages.grpo.batch": 4,
    "stages.grpo.mini_batch": 2,
    "stages.grpo.samples": 4,
}


def settings() -> list[str]:
    return [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[int], dict[str, int]]:
    """A run that was killed during training: its directory, what was left of it, and its journals' lengths."""
    folder = tmp_path_factory.mktemp("quickstart")
    marker = f"AWORLD_TEST_RUN={os.getpid()}-{time.time_ns()}"
    log = folder / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "aworld_cli", "run", str(RECIPE), *settings()],
            cwd=folder,
            stdout=stream,
            stderr=stream,
            env={**os.environ, **dict([marker.split("=")])},
        )
    try:
        end = time.monotonic() + 240
        while not list(folder.glob("runs/*/stages/05-grpo/verl/latest_checkpointed_iteration.txt")):
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    (run,) = folder.glob("runs/*")
    return run, wait_until_gone(marker), journal_lengths(run)


def wait_until_gone(marker: str) -> set[int]:
    """Return the processes that still carry the marker after some seconds."""
    left: set[int] = set()
    for _ in range(100):
        left = {process.pid for process in psutil.process_iter() if carries(process, marker)}
        if not left:
            break
        time.sleep(0.1)
    return left


def carries(process: psutil.Process, marker: str) -> bool:
    try:
        return marker.encode() in Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def journal_lengths(run: Path) -> dict[str, int]:
    return {path.parent.name: path.read_bytes().count(b"\n") for path in run.glob("stages/*/trajectories.jsonl")}


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_kill_9_leaves_no_process(killed: tuple[Path, set[int], dict[str, int]]) -> None:
    assert killed[1] == set()


def test_resume_finishes_the_run(killed: tuple[Path, set[int], dict[str, int]], aworld: Aworld) -> None:
    run, _, before = killed
    done = aworld("run", "--resume", run, "--json", timeout=300)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["status"] == "done"
    assert [stage["kind"] for stage in summary["stages"]] == ["eval", "rollout", "sft", "eval", "train", "eval"]
    after = journal_lengths(run)
    finished = {"01-eval-base": 32, "02-teacher": 64, "04-eval-sft": 64}
    assert {name: before[name] for name in finished} == finished == {name: after[name] for name in finished}
    grpo = summary["stages"][4]
    assert grpo["totals"]["steps"] == 3
    assert grpo["counts"]["selected"] == 48 and grpo["counts"]["missing"] == 0
    check_training_records(run)
    check_checkpoints(run)


def check_training_records(run: Path) -> None:
    records = read(run / "stages/05-grpo/trajectories.jsonl")
    assert {record["extra"]["step"] for record in records} == {1, 2, 3}
    for record in records:
        for sequence in record["sequences"]:
            assert len(sequence["response_ids"]) == len(sequence["loss_mask"]) == len(sequence["logprobs"])
            assert all(
                value < 0 for value, mask in zip(sequence["logprobs"], sequence["loss_mask"], strict=True) if mask
            )
    held_out = {record["episode"]["task"] for record in read(run / "stages/06-eval-grpo/trajectories.jsonl")}
    trained = {record["episode"]["task"] for record in records}
    trained |= {record["episode"]["task"] for record in read(run / "stages/02-teacher/trajectories.jsonl")}
    assert not held_out & trained


def check_checkpoints(run: Path) -> None:
    weights = [(run / "checkpoints" / name / "hf/model.safetensors").read_bytes() for name in ("base", "sft", "grpo")]
    assert len(set(weights)) == 3
    for name in ("sft", "grpo"):
        assert (run / "checkpoints" / name / "hf/chat_template.jinja").is_file()


def test_teacher_trajectories_hold_the_policys_tokens(killed: tuple[Path, set[int], dict[str, int]]) -> None:
    run, _, _ = killed
    records = read(run / "stages/02-teacher/trajectories.jsonl")
    used = [any(turn["tool_calls"] for turn in record["turns"]) for record in records]
    assert 0.25 < sum(used) / len(used) < 0.75
    assert all(record["grade"]["correct"] for record in records)
    for record in records:
        (sequence,) = record["sequences"]
        assert sequence["logprobs"] is None and sum(sequence["loss_mask"]) > 0


def test_the_log_takes_verls_wall_of_text(killed: tuple[Path, set[int], dict[str, int]]) -> None:
    run, _, _ = killed
    shown = (run.parents[1] / "log").read_text()
    assert "TaskRunner" not in shown and re.search(r"^grpo: ", shown, re.MULTILINE)
    assert (run / "logs/grpo.log").stat().st_size > 0
