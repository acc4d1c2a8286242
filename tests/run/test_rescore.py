"""`aworld runs rescore`: new grades beside the old ones, all or none of them, and never a changed journal."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.trajectory.journal import decode_line, encode_line
from tests.conftest import AddPlugin, Aworld

ENVIRONMENT = """
import os, time
from pathlib import Path
from pydantic import BaseModel
from aworld_cli.environment import Task
from aworld_cli.errors import MachineError
from aworld_cli.host import Component, hookimpl
from aworld_cli.trajectory import Grade, Message
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("environment", "judge", "judge", __name__ + ":judge", __name__ + ":Config")]
class Config(BaseModel):
    right: str = "yes"
    renamed: int = 0
    fails: str = ""
    wait: str = ""
class Judge:
    name = "judge"
    def __init__(self, config):
        self.config = config
    def splits(self):
        return ["test"]
    def tasks(self, split, limit):
        names = [f"q{number}" for number in range(10)]
        tasks = [Task(name, (Message("user", name),), metadata={"new": n < self.config.renamed})
                 if n < self.config.renamed else Task(name, (Message("user", name),)) for n, name in enumerate(names)]
        return tasks[:limit]
    def grade(self, task, answer, messages):
        print("a plugin prints")
        assert messages[-1].role == "assistant" and messages[-1].content == answer
        if task.id == self.config.fails:
            raise RuntimeError("the judge is out")
        if task.id == "q4" and self.config.wait:
            Path(self.config.wait).touch()
            time.sleep(60)
        if self.config.right == "no key":
            raise MachineError("the judge has no key")
        if self.config.right == "odd":
            return Grade(7.0)
        return Grade(float(answer == self.config.right), answer == self.config.right, {"right": self.config.right})
    def corpus(self):
        return ()
def judge(config):
    return Judge(config)
"""
RECIPE = """\
aworld: 1
name: judged
model: {kind: scripted, replies: ["yes"]}
environment: {kind: judge}
stages:
  - eval: {split: test, tasks: 6, samples: 2, k: [1, 2]}
"""


_made: list[Path] = []


@pytest.fixture
def run(aworld: Aworld, add_plugin: AddPlugin, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in which all answers were right; it is made once, each test has a copy."""
    add_plugin("judge", ENVIRONMENT)
    (tmp_path / "judged.yaml").write_text(RECIPE)
    if not _made:
        kept = tmp_path_factory.mktemp("judged")
        done = aworld("run", "judged.yaml", "--runs-dir", kept)
        assert done.returncode == 0, done.stderr
        _made.extend(kept.iterdir())
        (_made[0] / "lock.json").write_text((_made[0] / "lock.json").read_text().replace(str(tmp_path), "/nowhere"))
    return Path(shutil.copytree(_made[0], tmp_path / "runs" / _made[0].name))


def files(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()}


def stage_summary(run: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((run / "stages/01-eval/summary.json").read_text())
    return value


def test_new_grades_hold_and_old_ones_are_kept(run: Path, aworld: Aworld) -> None:
    journal = (run / "stages/01-eval/trajectories.jsonl").read_bytes()
    before = stage_summary(run)
    done = aworld("runs", "rescore", "-1", "--set", "environment.right=no", "--reason", "a typing error", "--json")
    assert done.returncode == 0 and "a plugin prints" in done.stderr, done.stderr
    (said,) = json.loads(done.stdout)["stages"]
    assert (said["graded"], said["changed"], said["worse"], said["better"], said["kept"]) == (12, 12, 12, 0, 0)
    assert (run / "stages/01-eval/trajectories.jsonl").read_bytes() == journal
    after = stage_summary(run)
    assert after["metrics"]["pass@1"]["value"] == 0 and after["counts"]["wrong"] == 12 == after["counts"]["selected"]
    (entry,) = after["rescored"]
    assert entry["before"] == {"counts": before["counts"], "metrics": before["metrics"]}
    assert (entry["reason"], entry["environment"]) == ("a typing error", {"kind": "judge", "right": "no"})
    assert entry["plugin"] == {"distribution": "aworld-judge", "version": "1.0"} and entry["when"] and entry["aworld"]
    lines = [decode_line(line) for line in (run / "stages/01-eval" / entry["file"]).read_bytes().splitlines(True)]
    assert len(lines) == 12 and {line["old"]["reward"] - line["new"]["reward"] for line in lines} == {1.0}
    assert json.loads((run / "summary.json").read_text())["stages"] == [after]


def test_show_export_and_diff_use_the_newest(run: Path, aworld: Aworld) -> None:
    shutil.copytree(run, run.with_name(f"{run.name}-as-it-was"))
    assert aworld("runs", "rescore", run, "--set", "environment.right=no").returncode == 0
    for options, value in (([], 0.0), (["--original"], 1.0)):
        shown = json.loads(aworld("runs", "show", run, "--json", *options).stdout)["stages"][0]
        assert shown["metrics"]["pass@1"]["value"] == value and len(shown["rescored"]) == 1
        rows = [
            json.loads(line) for line in aworld("runs", "export", run, "--to", "jsonl", *options).stdout.splitlines()
        ]
        assert {(row["reward"], row["rescored"]) for row in rows} == {(value, value == 0.0)}
        found = json.loads(aworld("runs", "diff", f"{run}-as-it-was", run, "--json", *options).stdout)
        assert found["stages"][0]["paired"]["worse"] == (6 if value == 0.0 else 0)
    text = aworld("runs", "show", run, "q0").stdout
    assert "grade: reward 0, not correct (rescored)\n  right: no" in text
    listed = [json.loads(line) for line in aworld("runs", "--json").stdout.splitlines()]
    assert {item["run"]: item["metric"]["value"] for item in listed}[run.name] == 0.0


def test_again_and_back(run: Path, aworld: Aworld) -> None:
    before = stage_summary(run)
    aworld("runs", "rescore", run, "--set", "environment.right=no")
    said = json.loads(aworld("runs", "rescore", run, "--json").stdout)["stages"][0]
    assert (said["changed"], said["better"]) == (12, 12)
    after = stage_summary(run)
    assert (after["metrics"], len(after["rescored"])) == (before["metrics"], 2)
    shown = json.loads(aworld("runs", "show", run, "--original", "--json").stdout)
    assert shown["stages"][0]["metrics"] == before["metrics"]


def test_a_task_that_is_gone_keeps_its_grade(run: Path, aworld: Aworld) -> None:
    done = aworld("runs", "rescore", run, "--set", "environment.right=no", "--set", "environment.renamed=2", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)["stages"][0]
    assert (said["graded"], said["kept"], said["gone"]) == (8, 4, ["q0", "q1"])
    assert said["after"]["counts"]["correct"] == 4 and said["after"]["counts"]["selected"] == 12
    text = aworld("runs", "rescore", run, "--set", "environment.renamed=2")
    assert "no longer in the environment, grades kept: 2 tasks ('q0', 'q1')" in text.stderr
    before = files(run)
    done = aworld("runs", "rescore", run, "--set", "environment.renamed=10")
    assert done.returncode == 1 and "no task of the run" in done.stderr and files(run) == before


def test_a_grade_that_fails_is_told_and_the_old_one_stays(run: Path, aworld: Aworld) -> None:
    done = aworld("runs", "rescore", run, "--set", "environment.right=no", "--set", "environment.fails=q3", "--json")
    assert done.returncode == 1 and "'q3' sample 0 keeps its grade: RuntimeError: the judge is out" in done.stderr
    said = json.loads(done.stdout)["stages"][0]
    assert (said["graded"], said["kept"], said["after"]["counts"]["correct"]) == (10, 2, 2)
    before = files(run)
    done = aworld("runs", "rescore", run, "--set", "environment.right=odd")
    assert done.returncode == 1 and "reward 7.0, which is not in [0, 1]" in done.stderr and files(run) == before
    done = aworld("runs", "rescore", run, "--set", "environment.right=no key")
    assert done.returncode == 6 and done.stderr.endswith("error: the judge has no key\n") and files(run) == before


def test_a_dry_run_writes_nothing(run: Path, aworld: Aworld) -> None:
    before = files(run)
    done = aworld("runs", "rescore", run, "--set", "environment.right=no", "--dry-run", "--json")
    assert json.loads(done.stdout)["stages"][0]["changed"] == 12 and files(run) == before
    assert "Would change" in aworld("runs", "rescore", run, "--dry-run").stdout


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_interrupted_half_way_nothing_changes(
    number: signal.Signals, run: Path, aworld: Aworld, tmp_path: Path
) -> None:
    before = files(run)
    reached = tmp_path / "reached"
    options = ["--set", "environment.right=no", "--set", f"environment.wait={reached}"]
    command = [sys.executable, "-m", "aworld_cli", "runs", "rescore", str(run), *options]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        end = time.monotonic() + 60
        while not reached.exists():
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.01)
        second = aworld("runs", "rescore", run)
        process.send_signal(number)
        assert process.stderr is not None
        said = process.stderr.read()
    assert second.returncode == 2 and "another process is writing this run" in second.stderr
    left = files(run)
    assert {name: data for name, data in left.items() if not name.endswith(".jsonl.new")} == before
    assert "Traceback" not in said and (number != signal.SIGINT or (process.returncode, left) == (130, before))
    assert aworld("runs", "rescore", run, "--set", "environment.right=no").returncode == 0
    assert not list(run.rglob("*.new")) and stage_summary(run)["counts"]["wrong"] == 12


def test_a_disk_that_refuses_changes_nothing(run: Path, tmp_path: Path) -> None:
    before = files(run)
    command = f"ulimit -f 1; exec {sys.executable} -B -m aworld_cli runs rescore {run} --set environment.right=no"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 6 and "File too large" in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert files(run) == before


def test_a_damaged_journal_is_refused(run: Path, aworld: Aworld) -> None:
    journal = run / "stages/01-eval/trajectories.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"yes"', b'"yss"', 1))
    before = files(run)
    done = aworld("runs", "rescore", run)
    assert done.returncode == 6 and "trajectories.jsonl:1: damaged" in done.stderr and files(run) == before


def test_a_rescored_run_can_be_resumed_and_a_stage_that_runs_again_counts_anew(run: Path, aworld: Aworld) -> None:
    aworld("runs", "rescore", run, "--set", "environment.right=no")
    after = stage_summary(run)
    done = aworld("runs", "resume", run, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["stages"][0]["rescored"] == after["rescored"]
    assert stage_summary(run) == after
    journal = run / "stages/01-eval/trajectories.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    failed = {**decode_line(lines[0]), "outcome": "error", "grade": None, "error": {"kind": "model", "message": "x"}}
    journal.write_bytes(encode_line(failed) + b"".join(lines[1:]))
    (run / "stages/01-eval/summary.json").unlink()
    assert aworld("runs", "resume", run).returncode == 0
    assert "rescored" not in stage_summary(run) and stage_summary(run)["counts"]["correct"] == 12
    assert aworld("runs", "show", run).returncode == 0


def test_an_episode_that_failed_is_not_graded(run: Path, aworld: Aworld) -> None:
    journal = run / "stages/01-eval/trajectories.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    failed = {**decode_line(lines[0]), "outcome": "error", "grade": None, "error": {"kind": "model", "message": "x"}}
    journal.write_bytes(encode_line(failed) + b"".join(lines[1:-1]))
    said = json.loads(aworld("runs", "rescore", run, "--json").stdout)["stages"][0]
    counts = said["after"]["counts"]
    assert said["graded"] == 10 and (counts["error"], counts["missing"], counts["correct"]) == (1, 1, 10)


def test_what_it_needs_not_may_be_missing(aworld: Aworld, teacher_recipe: Any, tmp_path: Path) -> None:
    aworld("run", teacher_recipe(tasks=2))
    done = aworld("--disable-plugin", "toolbox", "runs", "rescore", "latest")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--set", "seed=1"], 2, "--set seed: only environment.KEY can change"),
        (["--set", "environment.wrong=1"], 4, "unknown key"),
        (["--set", "environment.kind=jugde"], 5, "did you mean 'judge'"),
        (["--stage", "evil"], 2, "has no stage 'evil'"),
    ],
)
def test_wrong_options(arguments: list[str], code: int, said: str, run: Path, aworld: Aworld) -> None:
    if "environment.wrong=1" in arguments:  # this plugin's options are not strict: take one that is
        arguments = ["--set", "environment={kind: arithmetic, wrong: 1}"]
    before = files(run)
    done = aworld("runs", "rescore", run, *arguments)
    assert (done.returncode, done.stdout) == (code, "") and said in done.stderr, done.stderr
    assert files(run) == before


def test_a_stage_that_has_not_ended_is_passed_over(run: Path, aworld: Aworld) -> None:
    (run / "stages/01-eval/summary.json").unlink()
    done = aworld("runs", "rescore", run)
    assert done.returncode == 2 and "'eval' has not ended yet" in done.stderr
