"""A full disk, a place that cannot be written, two writers: a clear line each, and nothing that was there is lost."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.testing.model_server import FakeModelServer
from aworld_cli.trajectory.journal import decode_line
from tests.conftest import Aworld
from tests.run.conftest import Start, answer

Slow = Callable[..., str]
SCRIPTED = """\
aworld: 1
name: scripted
model: {kind: scripted, replies: ["7"]}
environment: {kind: arithmetic, digits: 1}
stages:
  - eval: {split: test, tasks: 10, samples: 12, k: [1, 4]}
"""


def figures(summary: dict[str, Any]) -> list[Any]:
    return [(stage["counts"], stage["metrics"], stage["totals"]) for stage in summary["stages"]]


def journal(run: Path) -> Path:
    return run / "stages/01-eval/trajectories.jsonl"


def test_a_disk_that_fills_up_during_a_run(start: Start, aworld: Aworld, tmp_path: Path) -> None:
    run = start(SCRIPTED, within=("bash", "-c", 'ulimit -f 40; exec "$@"', "bash"))
    assert run.end() == 6
    path = journal(run.directory)
    assert f"error: {path}: cannot be written: File too large" in run.said
    assert f"go on with: aworld run --resume {run.directory}" in run.said
    lines = path.read_bytes().splitlines(keepends=True)
    assert 5 < len(lines) < 120 and all(decode_line(line) for line in lines)  # the record that did not fit is cut off
    resumed = aworld("run", "--resume", run.directory, "--json")
    whole = aworld("run", "recipe.yaml", "--runs-dir", "whole", "--json")
    assert figures(json.loads(resumed.stdout)) == figures(json.loads(whole.stdout))
    assert path.read_bytes().startswith(b"".join(lines)) and path.read_bytes().count(b"\n") == 120


@pytest.mark.parametrize("name", ["stages", ".lock", "logs", "stages/01-eval/trajectories.jsonl", "summary.json"])
def test_a_place_that_cannot_be_written(name: str, aworld: Aworld, tmp_path: Path) -> None:
    """As root no permission is missing, so something of another kind stands where the run writes."""
    (tmp_path / "recipe.yaml").write_text(SCRIPTED.replace("tasks: 10, samples: 12", "tasks: 2, samples: 4"))
    assert aworld("run", "recipe.yaml").returncode == 0
    (run,) = (tmp_path / "runs").iterdir()
    (run / "stages/01-eval/summary.json").unlink()
    whole = journal(run).read_bytes()
    journal(run).write_bytes(whole.splitlines(keepends=True)[0])
    place = run / name
    place.rename(tmp_path / "aside")
    place.touch() if (tmp_path / "aside").is_dir() else place.mkdir()
    done = aworld("run", "--resume", run)
    assert (done.returncode, done.stdout) == (6, ""), done.stderr
    assert "Traceback" not in done.stderr and f"error: {place if name != '.lock' else run}" in done.stderr
    place.unlink() if place.is_file() else place.rmdir()
    (tmp_path / "aside").rename(place)
    done = aworld("run", "--resume", run)
    assert done.returncode == 0, done.stderr
    assert journal(run).read_bytes().count(b"\n") == whole.count(b"\n") == 8


def test_of_two_that_resume_one_run_at_once_one_is_refused(
    start: Start, slow: Slow, tmp_path: Path, aworld: Aworld
) -> None:
    with FakeModelServer(chat=answer, latency=0.5) as server:
        run = start(slow(server, tasks=4, concurrency=2))
        run.wait_for(lambda: server.counters.in_flight == 2)
        run.send(signal.SIGTERM)
        assert run.end() == 3
        both = [
            subprocess.Popen(
                [sys.executable, "-m", "aworld_cli", "run", "--resume", str(run.directory)],
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        said = [process.communicate(timeout=60)[1] for process in both]
        codes = [process.returncode for process in both]
        assert sorted(codes) == [0, 2], said
        assert "another process is writing this run; wait for it, or stop it" in said[codes.index(2)]
        assert server.counters.requests == 8  # no episode was run by both
    assert len(run.records()) == 8 and run.status() == "done"


@pytest.mark.parametrize("moved", [False, True])
def test_a_directory_that_goes_away_during_a_run(
    moved: bool, start: Start, slow: Slow, aworld: Aworld, tmp_path: Path
) -> None:
    with FakeModelServer(chat=answer, latency=1) as server:
        run = start(slow(server, tasks=4, concurrency=8))
        run.wait_for(lambda: server.counters.in_flight == 8)
        path = run.directory
        path.rename(tmp_path / "moved")
        if not moved:
            shutil.rmtree(tmp_path / "moved")
        assert run.end() == 6
        assert f"error: {path}: was moved or removed while the run wrote to it" in run.said
        assert "go on with" not in run.said and not path.exists()
        if moved:  # nothing was lost
            before = server.counters.requests
            assert aworld("run", "--resume", tmp_path / "moved").returncode == 0
            assert server.counters.requests == before == 8
