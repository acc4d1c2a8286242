"""`aworld run` with a scripted model: exact repeats, resume after kill -9, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Aworld

Recipe = Callable[..., Path]


def trajectories(run: Path) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for path in sorted(run.glob("stages/*/trajectories.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record in records:
            del record["crc32"], record["seconds"]
            for turn in record["turns"]:
                del turn["model_seconds"], turn["tool_seconds"]
        found[path.parent.name] = sorted(records, key=lambda record: str(record["episode"]))
    return found


def without_times(summary: dict[str, Any]) -> dict[str, Any]:
    stages = [{key: stage[key] for key in stage if key != "seconds"} for stage in summary["stages"]]
    return {"status": summary["status"], "stages": stages}


def only_run(tmp_path: Path, directory: str = "runs") -> Path:
    (run,) = (tmp_path / directory).iterdir()
    return run


def test_run_and_its_directory(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    done = aworld("run", teacher_recipe(), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    run = only_run(tmp_path)
    assert summary == json.loads((run / "summary.json").read_text())
    assert summary["status"] == "done" and [stage["name"] for stage in summary["stages"]] == ["rollout", "eval"]
    counts = summary["stages"][1]["counts"]
    assert counts == {"selected": 16, "correct": 16, "wrong": 0, "limit": 0, "error": 0, "missing": 0}
    assert summary["stages"][1]["metrics"]["pass@2"]["value"] == 1.0
    assert (run / "recipe.yaml").read_text() == teacher_recipe().read_text()
    lock = json.loads((run / "lock.json").read_text())
    assert lock["distributions"]["pydantic"] and lock["seed"] == 0


def test_table_is_the_result_and_the_rest_goes_to_stderr(aworld: Aworld, teacher_recipe: Recipe) -> None:
    done = aworld("run", teacher_recipe())
    assert "100.0 [" in done.stdout and "run directory:" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "eval done in" in done.stderr


def test_concurrency_does_not_change_trajectories_and_the_seed_does(
    aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path
) -> None:
    found = {}
    for name, options in {"one": {"concurrency": 1}, "many": {"concurrency": 64}, "other": {"seed": 1}}.items():
        recipe = teacher_recipe(tasks=32, name=f"{name}.yaml", **options)
        assert aworld("run", recipe, "--runs-dir", name).returncode == 0
        found[name] = trajectories(only_run(tmp_path, name))
    assert found["one"] == found["many"]
    assert found["one"] != found["other"]


@pytest.mark.parametrize("records", [0, 1, 40, 150, 250])
def test_kill_9_and_resume_gives_the_same_summary(
    records: int, aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path
) -> None:
    recipe = teacher_recipe(tasks=100, concurrency=4)
    whole = aworld("run", recipe, "--json", "--runs-dir", "whole")
    with subprocess.Popen(
        [sys.executable, "-m", "aworld_cli", "run", str(recipe), "--runs-dir", "killed"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        begun = tmp_path / "killed"
        wait_for(lambda: any(begun.glob("*/lock.json")) and (process.poll() == 0 or count_lines(begun) >= records))
        process.send_signal(signal.SIGKILL)
    run = only_run(tmp_path, "killed")
    before = count_lines(tmp_path / "killed")
    resumed = aworld("run", "--resume", run, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert without_times(json.loads(resumed.stdout)) == without_times(json.loads(whole.stdout))
    assert trajectories(run) == trajectories(only_run(tmp_path, "whole"))
    assert count_lines(tmp_path / "killed") == 300 and before <= 300


def test_resuming_a_finished_run_runs_nothing(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    aworld("run", teacher_recipe())
    run = only_run(tmp_path)
    journal = run / "stages/02-eval/trajectories.jsonl"
    before = journal.read_bytes()
    again = aworld("run", "--resume", run)
    assert again.returncode == 0 and "done before" in again.stderr
    assert journal.read_bytes() == before


def test_two_processes_on_one_run(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    import fcntl

    aworld("run", teacher_recipe())
    run = only_run(tmp_path)
    with (run / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = aworld("run", "--resume", run)
    assert done.returncode == 2 and "another process" in done.stderr


def test_sigint_leaves_a_resumable_run(teacher_recipe: Recipe, tmp_path: Path, aworld: Aworld) -> None:
    recipe = teacher_recipe(tasks=1000, concurrency=2)
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 3)):
        with subprocess.Popen(
            [sys.executable, "-m", "aworld_cli", "run", str(recipe), "--runs-dir", str(number.name)],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            wait_for(lambda name=number.name: count_lines(tmp_path / name) > 5)
            process.send_signal(number)
            assert process.stderr is not None
            text = process.stderr.read()
        assert process.returncode == code, text
        assert "--resume" in text and "Traceback" not in text
        assert json.loads((only_run(tmp_path, number.name) / "summary.json").read_text())["status"] == "stopped"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["run"], 2, "name a recipe file"),
        (["run", "missing.yaml"], 4, "missing.yaml: cannot be read: No such file"),
        (["run", "--resume", "nowhere"], 2, "no run is called 'nowhere'"),
        (["run", "teacher.yaml", "--set", "nonsense"], 2, "key.path=value"),
        (["run", "teacher.yaml", "--set", "tools.0.kind=calculater"], 5, "did you mean 'calculator'"),
        (["run", "teacher.yaml", "--set", "stages.eval.split=dev"], 4, "no split 'dev'; it has"),
        (["run", "teacher.yaml", "--set", "stages.eval.tasks=1000000000"], 4, "tasks are asked for"),
        (["run", "teacher.yaml", "--runs-dir", "/proc/none"], 6, "--runs-dir"),
        (["run", "teacher.yaml", "--bogus"], 2, "No such option"),
        (["run", "teacher.yaml", "--set", "tools.0={kind: stdio, command: no-such-x}"], 6, "'no-such-x' is not found"),
        (["run", "teacher.yaml", "--set", "tools.0={kind: stdio, command: 'false'}"], 6, "'false' did not start"),
        (["run", "teacher.yaml", "--set", "tools.0={kind: stdio, comand: x}"], 4, "did you mean 'command'"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, text: str, aworld: Aworld, teacher_recipe: Recipe) -> None:
    teacher_recipe()
    done = aworld(*arguments)
    assert (done.returncode, text in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_dry_run_starts_nothing(aworld: Aworld, teacher_recipe: Recipe, tmp_path: Path) -> None:
    done = aworld("run", teacher_recipe(), "--dry-run", "--json")
    shown = json.loads(done.stdout)
    assert shown["stages"][1]["episodes"] == 16 and "aworld-toolbox" in shown["tools"][0]["kind"]
    assert not (tmp_path / "runs").exists()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.005)


def count_lines(directory: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in directory.glob("*/stages/*/trajectories.jsonl"))


def test_counting_sees_what_it_should(tmp_path: Path) -> None:
    folder = tmp_path / "r/stages/01-x"
    os.makedirs(folder)  # noqa: PTH103
    (folder / "trajectories.jsonl").write_text("a\nb\n")
    assert count_lines(tmp_path) == 2
