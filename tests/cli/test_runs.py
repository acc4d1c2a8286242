"""`aworld runs`: finding, listing, showing, resuming and removing runs."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.archive.finding import find_run
from aworld_cli.archive.listing import list_runs
from aworld_cli.cli.run import run as run_recipe
from aworld_cli.cli.runs import resume
from aworld_cli.run.directory import RunDirectory
from aworld_cli.trajectory.journal import decode_line, encode_line
from tests.conftest import Aworld
from tests.stored import RIGHT, WRONG, Call


def listed(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def held(runs: Path) -> Iterator[Path]:
    """The newest run, its lock held by this process."""
    with (runs / WRONG / ".lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield runs / WRONG


# -- list -----------------------------------------------------------------------------------------------------


def test_runs_are_listed_newest_first(runs: Path, call: Call) -> None:
    found = listed(call("runs", "--json"))
    assert [run["run"] for run in found] == [WRONG, RIGHT]
    assert found == listed(call("runs", "list", "--json"))
    right = found[1]
    assert (right["recipe"], right["status"], right["stages"]) == ("right", "done", {"done": 2, "total": 2})
    assert right["episodes"] == 18 and right["started"] == "2026-01-01T00:00:00+00:00"
    assert right["bytes"] == sum(path.stat().st_size for path in (runs / RIGHT).rglob("*") if path.is_file())
    metric = right["metric"]
    assert (metric["stage"], metric["name"], metric["value"], metric["n"]) == ("eval", "pass@1", 1.0, 12)
    assert metric["low"] < 1.0 and 0 < right["seconds"] < 60
    table = call("runs").stdout
    assert table.index(WRONG) < table.index(RIGHT) and "pass@1 100.0 % [" in table


def test_the_width_decides_how_runs_are_listed(runs: Path, call: Call) -> None:
    wide, usual, narrow = (call("runs", env={"COLUMNS": width}).stdout for width in ("200", "110", "40"))
    assert "started" in wide and "2026-01-01" in wide and "started" not in usual and WRONG in usual
    assert f"\n{RIGHT}\n  done, 2/2 stages, 18 episodes\n" in narrow and max(map(len, narrow.splitlines())) <= 40


def test_limit_and_status(runs: Path, call: Call) -> None:
    assert [run["run"] for run in listed(call("runs", "--limit", "1", "--json"))] == [WRONG]
    assert [run["run"] for run in listed(call("runs", "list", "--status", "done", "--json"))] == [WRONG, RIGHT]
    assert listed(call("runs", "--status", "failed", "--json")) == []
    done = call("runs", "--status", "stoped")
    assert done.returncode == 2 and "did you mean 'stopped'" in done.stderr


def test_no_runs_is_no_failure(call: Call) -> None:
    done = call("runs")
    assert (done.returncode, done.stdout) == (0, "") and "no runs in runs" in done.stderr


def test_what_is_damaged_is_listed_with_the_reason(runs: Path, call: Call) -> None:
    for name in ("bad-json", "newer", "bad-stage", "no-recipe"):
        shutil.copytree(runs / RIGHT, runs / name)
    (runs / "bad-json/lock.json").write_text("{")
    (runs / "newer/lock.json").write_text(json.dumps({"schema_version": 2, "recipe": {}}))
    (runs / "bad-stage/stages/02-eval/summary.json").write_text("[]")
    (runs / "no-recipe/lock.json").write_text(json.dumps({"schema_version": 1}))
    (runs / "foreign").mkdir()
    (runs / "notes.txt").write_text("a file is no run")
    (runs / ".hidden").mkdir()
    found = {run["run"]: run for run in listed(call("runs", "--json"))}
    assert len(found) == 7
    reasons = {name: run["reason"] for name, run in found.items() if run["status"] == "damaged"}
    assert "cannot be read" in reasons["bad-json"] and "upgrade aworld" in reasons["newer"]
    assert "not a stage's summary" in reasons["bad-stage"] and "no recipe" in reasons["no-recipe"]
    assert reasons["foreign"] == "not a run directory (it holds no lock.json)"
    assert "damaged: not a run directory" in call("runs").stdout


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("counts", "wrong"), [None]),
        (("counts", "correct"), 7),
        (("metrics", "pass@1", "low"), "0.5"),
        (("metrics", "pass@1"), {"value": 1.0, "lnw": 0.5, "high": 1.0, "n": 12}),
        (("metrics", "tool_use"), True),
        (("seconds",), None),
        (("samples",), 0),
        (("rescored",), [{"file": "f", "before": []}]),
    ],
)
def test_a_damaged_summary_keeps_no_other_run_from_being_listed(
    path: tuple[str, ...], value: object, runs: Path, call: Call
) -> None:
    file = runs / RIGHT / "stages/02-eval/summary.json"
    whole = json.loads(file.read_text())
    part = whole
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    file.write_text(json.dumps(whole))
    assert {run["run"]: run["status"] for run in listed(call("runs", "--json"))} == {WRONG: "done", RIGHT: "damaged"}
    for command in (("runs", "show", RIGHT), ("runs", "diff", WRONG, RIGHT), ("runs", "resume", RIGHT)):
        done = call(*command)
        assert done.returncode == 2 and str(file) in done.stderr, done.stderr


def test_a_run_that_is_written_is_running(held: Path, call: Call) -> None:
    assert {run["run"]: run["status"] for run in listed(call("runs", "--json"))} == {WRONG: "running", RIGHT: "done"}
    assert "status:  running" in call("runs", "show", WRONG).stdout


def test_a_run_that_was_killed_is_stopped_and_shows_what_it_has(runs: Path, call: Call) -> None:
    summary = json.loads((runs / WRONG / "summary.json").read_text())
    (runs / WRONG / "summary.json").write_text(json.dumps({**summary, "status": "running", "stages": []}))
    (runs / WRONG / "stages/02-eval/summary.json").unlink()
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:5]) + b'{"torn')
    (run,) = listed(call("runs", "--limit", "1", "--json"))
    assert (run["status"], run["stages"], run["metric"]) == ("stopped", {"done": 1, "total": 2}, None)
    done = call("runs", "show", "latest", "--json")
    shown = json.loads(done.stdout)["stages"][1]
    assert shown["status"] == "unfinished" and (shown["counts"]["selected"], shown["counts"]["missing"]) == (12, 7)
    parts = ("correct", "wrong", "limit", "error", "missing")
    assert sum(shown["counts"][part] for part in parts) == 12 and "torn" in done.stderr
    (runs / WRONG / "summary.json").unlink()
    assert listed(call("runs", "--limit", "1", "--json"))[0]["status"] == "stopped"


def test_listing_reads_no_journal(runs: Path) -> None:
    for journal in runs.glob("*/stages/*/trajectories.jsonl"):
        journal.unlink()
        journal.mkdir()  # whoever opens it fails
    assert [run.status for run in list_runs(runs)] == ["done", "done"]


def test_a_look_keeps_no_one_from_writing(runs: Path) -> None:
    """Who lists runs holds a shared lock for an instant; who writes waits that long."""
    look = (runs / WRONG / ".lock").open()
    fcntl.flock(look, fcntl.LOCK_SH)
    threading.Timer(0.05, look.close).start()
    directory = RunDirectory.open(runs / WRONG)
    assert look.closed and list_runs(runs)[0].status == "running"
    directory.close()


# -- which run ------------------------------------------------------------------------------------------------


def test_ways_to_name_a_run(runs: Path, call: Call, tmp_path: Path) -> None:
    for name, run in (
        (WRONG, WRONG),
        ("latest", WRONG),
        ("latest~1", RIGHT),
        ("-1", WRONG),
        ("-2", RIGHT),
        ("20260101", RIGHT),
        (f"runs/{RIGHT}", RIGHT),
        (str(runs / RIGHT), RIGHT),
    ):
        done = call("runs", "show", name, "--json")
        assert done.returncode == 0, (name, done.stderr)
        assert json.loads(done.stdout)["run"] == run, name
    assert call("runs", "show", "-1", "--runs-dir", tmp_path / "none").returncode == 2
    moved = tmp_path / "elsewhere"
    runs.rename(moved)
    for options, env in ((["--runs-dir", "elsewhere"], {}), ([], {"AWORLD_RUNS_DIR": "elsewhere"})):
        assert json.loads(call("runs", "show", "-1", "--json", *options, env=env).stdout)["run"] == WRONG
    assert call("runs", "--runs-dir", "elsewhere", "show", "-1").returncode == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("20260", "'20260' is the beginning of 2 runs: "),
        ("wrog", f"did you mean '{WRONG}'?"),
        ("latest~2", "runs holds 2 runs"),
        ("-3", "runs holds 2 runs"),
        ("zzz", f"newest: {WRONG}, {RIGHT}"),
        ("..", "not a run directory"),
        ("", "no run is called ''"),
        ("/", "/: not a run directory"),
    ],
)
def test_a_run_that_is_not_there(name: str, said: str, runs: Path, call: Call) -> None:
    done = call("runs", "show", name)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr and "Traceback" not in done.stderr


def test_an_unknown_option_is_still_one(runs: Path, call: Call) -> None:
    done = call("runs", "show", "-1", "--ful")
    assert done.returncode == 2 and "--full" in done.stderr


def test_a_name_that_is_another_ones_beginning(runs: Path) -> None:
    shutil.copytree(runs / RIGHT, runs / f"{RIGHT}-2")
    assert find_run(RIGHT, runs).name == RIGHT


# -- show -----------------------------------------------------------------------------------------------------


def test_counts_sum_to_what_was_selected(runs: Path, call: Call) -> None:
    shown = json.loads(call("runs", "show", WRONG, "--json").stdout)
    assert [stage["name"] for stage in shown["stages"]] == ["rollout", "eval"]
    for stage in shown["stages"]:
        counts = dict(stage["counts"])
        assert counts.pop("selected") == sum(counts.values()) and counts["wrong"] > 0
    summary = json.loads((runs / WRONG / "stages/02-eval/summary.json").read_text())
    assert shown["stages"][1]["metrics"] == summary["metrics"] and len(shown["stages"][1]["slowest"]) == 5
    assert shown["plugins"]["aworld-arithmetic"] and shown["seed"] == 0
    text = call("runs", "show", WRONG).stdout
    for part in ("pass@2 (n=2)", "Slowest episodes", "aworld-toolbox", "status:  done"):
        assert part in text, part


def test_a_damaged_record_is_told_and_the_rest_is_shown(runs: Path, call: Call) -> None:
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    task = decode_line(lines[5])["episode"]["task"]
    lines[2] = lines[2].replace(b'"reward":', b'"rewerd":')
    journal.write_bytes(b"".join(lines))
    done = call("runs", "show", WRONG, "--json")
    assert done.returncode == 0 and f"{journal}:3: damaged record" in done.stderr
    assert json.loads(done.stdout)["stages"][1]["damaged_lines"] == [3]
    assert call("runs", "show", WRONG, task, "--stage", "eval").returncode == 0
    assert len(listed(call("runs", "show", WRONG, "--tasks", "--stage", "eval", "--json"))) == 11


def test_a_record_of_a_newer_aworld(runs: Path, call: Call) -> None:
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    record = decode_line(journal.read_bytes().splitlines(keepends=True)[0])
    with journal.open("ab") as file:
        file.write(encode_line({**record, "schema_version": 2}))
    done = call("runs", "show", WRONG)
    assert done.returncode == 2 and "trajectories.jsonl:13: a newer aworld wrote this record" in done.stderr


def test_episodes_by_outcome(runs: Path, call: Call) -> None:
    every = listed(call("runs", "show", WRONG, "--tasks", "--json"))
    wrong = listed(call("runs", "show", WRONG, "--tasks", "--outcome", "wrong", "--json"))
    assert len(every) == 18 and wrong == [row for row in every if row["verdict"] == "wrong"] != []
    assert listed(call("runs", "show", WRONG, "--outcome", "failed", "--stage", "rollout", "--json")) == [
        row for row in wrong if row["stage"] == "rollout"
    ]
    assert listed(call("runs", "show", WRONG, "--tasks", "--outcome", "error", "--json")) == []
    assert "did you mean 'error'" in call("runs", "show", WRONG, "--outcome", "eror").stderr
    assert wrong[0]["task"] in call("runs", "show", WRONG, "--tasks").stdout


def test_a_long_list_comes_in_parts(runs: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = call("runs", "show", WRONG, "--tasks").stdout
    monkeypatch.setattr("aworld_cli.cli.runs._ROWS", 4)
    parts = call("runs", "show", WRONG, "--tasks").stdout
    assert (whole.count("outcome"), parts.count("outcome")) == (1, 5)
    assert len([line for line in parts.splitlines() if line.strip().startswith(("rollout", "eval"))]) == 18


def test_of_two_records_of_an_episode_the_later_counts(runs: Path, call: Call) -> None:
    journal = runs / RIGHT / "stages/02-eval/trajectories.jsonl"
    records = [decode_line(line) for line in journal.read_bytes().splitlines(keepends=True)]
    failed = {**records[3], "outcome": "error", "grade": None, "error": {"kind": "model", "message": "away"}}
    journal.write_bytes(b"".join(map(encode_line, [failed, *records])))
    rows = listed(call("runs", "show", RIGHT, "--tasks", "--stage", "eval", "--json"))
    assert len(rows) == 12 and {row["outcome"] for row in rows} == {"answered"}


# -- resume and rm --------------------------------------------------------------------------------------------


def test_resume_is_that_of_run(runs: Path, aworld: Aworld) -> None:
    (runs / WRONG / "stages/02-eval/summary.json").unlink()
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    whole = sorted(journal.read_bytes().splitlines())
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:7]))
    done = aworld("runs", "resume", "-1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "done" and len(journal.read_bytes().splitlines()) == len(whole)
    assert json.loads(aworld("runs", "resume", "-1", "--dry-run", "--json").stdout)["recipe"] == "wrong"


def test_resume_has_every_option_that_run_has_for_it() -> None:
    own, other = (inspect.signature(function).parameters for function in (resume, run_recipe))
    assert other.keys() - own.keys() == {"recipe", "resume", "settings"}


def test_rm_frees_what_it_says(runs: Path, call: Call) -> None:
    (run,) = [run for run in listed(call("runs", "--json")) if run["run"] == RIGHT]
    done = call("runs", "rm", "20260101", RIGHT, "--yes", "--json")
    assert listed(done) == [{"run": RIGHT, "path": str((runs / RIGHT).resolve()), "bytes": run["bytes"]}]
    assert [path.name for path in runs.iterdir()] == [WRONG]
    assert "removed" in call("runs", "rm", "-1", "-y").stdout and list(runs.iterdir()) == []


def test_rm_asks_and_takes_no_for_an_answer(runs: Path, call: Call) -> None:
    done = call("runs", "rm", WRONG)
    assert done.returncode == 2 and "--yes" in done.stderr and (runs / WRONG).is_dir()
    for answer, code, there in (("n", 1, True), ("y", 0, False)):
        at_terminal = f"{sys.executable} -m aworld_cli runs rm {WRONG}"
        done = subprocess.run(
            ["script", "-qec", at_terminal, "/dev/null"],
            input=f"{answer}\n",
            capture_output=True,
            text=True,
            cwd=runs.parent,
            timeout=60,
            check=False,
        )
        assert (done.returncode, (runs / WRONG).is_dir()) == (code, there), done.stdout


def test_rm_refuses_what_is_written_or_is_no_run(held: Path, call: Call, tmp_path: Path) -> None:
    done = call("runs", "rm", RIGHT, WRONG, "--yes")
    assert done.returncode == 2 and "another process is writing" in done.stderr
    assert (held.parent / RIGHT).is_dir(), "all are checked before one is removed"
    (tmp_path / "mine").mkdir()
    for name in ("mine", str(tmp_path), "runs"):
        done = call("runs", "rm", name, "--yes")
        assert done.returncode == 2 and "not a run directory" in done.stderr, name


def test_rm_follows_no_link(runs: Path, call: Call, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    (runs / RIGHT / "checkpoints").symlink_to(outside)
    (runs / RIGHT / "stages/link").symlink_to(outside / "precious")
    assert call("runs", "rm", RIGHT, "--yes").returncode == 0
    assert (outside / "precious").read_text() == "x" and not (runs / RIGHT).exists()
    (runs / "linked").symlink_to(runs / WRONG)
    done = call("runs", "rm", "linked", "--yes")
    assert done.returncode == 2 and "is a link" in done.stderr and (runs / WRONG).is_dir()


def test_a_removal_that_was_interrupted_can_be_done_again(runs: Path, call: Call) -> None:
    shutil.rmtree(runs / WRONG / "stages")
    (runs / WRONG / "summary.json").unlink()
    assert call("runs", "rm", WRONG, "--yes").returncode == 0 and not (runs / WRONG).exists()


def test_a_pipe_that_closes_early(runs: Path) -> None:
    command = f"{sys.executable} -m aworld_cli runs show -1 --tasks --json | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=runs.parent, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["stage"] == "rollout" and "Traceback" not in done.stderr


def test_looking_needs_no_plugin_and_nothing_heavy(runs: Path, call: Call) -> None:
    for arguments in (
        ["runs"],
        ["runs", "show", "-1"],
        ["runs", "show", "-1", "--tasks"],
        ["runs", "diff", "-2", "-1"],
    ):
        code = (
            "import sys\nfrom aworld_cli.cli.app import main\n"
            f"sys.argv = ['aworld', '--no-plugins', *{arguments!r}]\n"
            "try: main()\nexcept SystemExit as error: assert not error.code, error\n"
            "heavy = {'torch', 'ray', 'mcp', 'verl', 'numpy', 'aiohttp', 'pyarrow'} & set(sys.modules)\n"
            "assert not heavy, heavy"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=runs.parent, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_a_huge_run_is_listed_as_fast_as_a_small_one(runs: Path) -> None:
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    with journal.open("r+b") as file:
        file.truncate(10**11)  # a hole: reading it would take minutes
    began = time.process_time()
    assert list_runs(runs)[0].size > 10**11
    assert time.process_time() - began < 5
    os.truncate(journal, 0)
