"""`aworld runs export`: what other programs read, whole or not at all, in memory that does not grow with the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.trajectory.export import FLAT_COLUMNS
from aworld_cli.trajectory.journal import decode_line, encode_line
from aworld_cli.trajectory.sampled import sampled_messages
from tests.stored import RIGHT, WRONG, Call


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def journal_of(runs: Path, stage: str = "01-rollout") -> Path:
    return runs / WRONG / "stages" / stage / "trajectories.jsonl"


def rewrite(journal: Path, **more: Any) -> dict[str, Any]:
    """Make a journal hold its first record alone, changed."""
    record = decode_line(journal.read_bytes().splitlines(keepends=True)[0]) | more
    journal.write_bytes(encode_line(record))
    return record


# -- flat -----------------------------------------------------------------------------------------------------


def test_flat_rows_hold_every_episode(runs: Path, call: Call) -> None:
    found = rows(call("runs", "export", WRONG, "--to", "jsonl"))
    assert len(found) == 18 and all(list(row) == list(FLAT_COLUMNS) for row in found)
    summary = json.loads((runs / WRONG / "summary.json").read_text())
    for stage in summary["stages"]:
        here = [row for row in found if row["stage"] == stage["name"]]
        assert sum(bool(row["correct"]) for row in here) == stage["counts"]["correct"] < len(here)
        assert sum(row["tool_calls"] for row in here) == stage["totals"]["tool_calls"] > 0
    assert found[0]["details"].keys() == {"expected", "got"} and found[0]["messages"][0]["role"] == "user"


def test_an_error_is_a_row_too(runs: Path, call: Call) -> None:
    error = {"kind": "model", "message": "away"}
    rewrite(journal_of(runs), outcome="error", grade=None, error=error, answer=None)
    (row,) = rows(call("runs", "export", WRONG, "--to", "jsonl", "--stage", "rollout"))
    assert (row["outcome"], row["reward"], row["error_kind"], row["error"]) == ("error", None, "model", "away")


def test_keep_and_stage(runs: Path, call: Call) -> None:
    every = rows(call("runs", "export", WRONG, "--to", "jsonl", "--stage", "eval"))
    kept = rows(
        call("runs", "export", WRONG, "--to", "jsonl", "--stage", "eval", "--keep", "grade.correct and turns > 1")
    )
    assert kept == [row for row in every if row["correct"] and row["turns"] > 1] != []
    done = call("runs", "export", WRONG, "--to", "jsonl", "--keep", "grade.corect")
    assert done.returncode == 2 and "--keep: 'grade' has no field 'corect'; did you mean 'correct'" in done.stderr


def test_parquet_holds_the_same(runs: Path, call: Call) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    call("runs", "export", WRONG, "--to", "parquet", "--output", "x.parquet")
    table = parquet.read_table(runs.parent / "x.parquet")
    assert table.column_names == list(FLAT_COLUMNS)
    found = rows(call("runs", "export", WRONG, "--to", "jsonl"))
    for row, other in zip(found, table.to_pylist(), strict=True):
        assert json.loads(other.pop("details")) == row.pop("details")
        messages = [{key: value for key, value in item.items() if value is not None} for item in other.pop("messages")]
        assert messages == row.pop("messages")
        assert other == row


def test_parquet_of_an_empty_journal_and_of_odd_texts(runs: Path, call: Call) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for stage in ("01-rollout", "02-eval"):
        journal_of(runs, stage).write_bytes(b"")
    assert call("runs", "export", WRONG, "--to", "parquet", "-o", "none.parquet").returncode == 0
    assert parquet.read_table(runs.parent / "none.parquet").column_names == list(FLAT_COLUMNS)
    shutil.copyfile(runs / RIGHT / "stages/02-eval/trajectories.jsonl", journal_of(runs))
    rewrite(journal_of(runs), answer="a\ud800", messages=[{"role": "user", "content": "\x00é"}])
    assert call("runs", "export", WRONG, "--to", "parquet", "-o", "odd.parquet").returncode == 0
    (row,) = parquet.read_table(runs.parent / "odd.parquet").to_pylist()
    assert (row["answer"], row["messages"][0]["content"]) == ("a?", "\x00é")
    assert rows(call("runs", "export", WRONG, "--to", "jsonl"))[0]["answer"] == "a\ud800"


def test_without_pyarrow(runs: Path) -> None:
    code = (
        "import sys\nsys.modules['pyarrow'] = None\nfrom aworld_cli.cli.app import main\n"
        f"sys.argv = ['aworld', 'runs', 'export', '{WRONG}', '--to', 'parquet', '-o', 'x.parquet']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=runs.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 6 and "pip install pyarrow" in done.stderr and "Traceback" not in done.stderr
    assert names(runs.parent) == ["runs"]


# -- sft ------------------------------------------------------------------------------------------------------


def test_sft_is_what_a_chat_template_takes(runs: Path, call: Call) -> None:
    found = rows(call("runs", "export", WRONG, "--to", "sft"))
    flat = rows(call("runs", "export", WRONG, "--to", "jsonl", "--stage", "rollout", "--keep", "grade.correct"))
    assert [row["task"] for row in found] == [row["task"] for row in flat] != []
    assert {row["stage"] for row in found} == {"rollout"}, "an evaluation is nothing to learn from unless it is named"
    for row in found:
        (tool,) = row["tools"]
        assert tool["function"]["name"] == "calculator" and tool["function"]["parameters"]["type"] == "object"
        assert row["correct"] is True and row["reward"] == 1.0
        for message in row["messages"]:
            assert message["role"] in ("user", "assistant", "tool") and isinstance(message["content"], str)
            assert message.get("train") == (True if message["role"] == "assistant" else None)
            for tool_call in message.get("tool_calls", ()):
                assert tool_call["function"]["arguments"].keys() == {"expression"}
    assert any(message.get("tool_calls") for row in found for message in row["messages"])


def test_sft_of_an_evaluation_by_name_and_of_all_grades(runs: Path, call: Call) -> None:
    found = rows(call("runs", "export", WRONG, "--to", "sft", "--stage", "eval", "--keep", "true"))
    assert len(found) == 12 and {row["correct"] for row in found} == {True, False}
    shutil.rmtree(runs / WRONG / "stages/01-rollout")
    done = call("runs", "export", WRONG, "--to", "sft")
    assert done.returncode == 2 and "name it: --stage eval" in done.stderr


def test_what_a_prompt_shows_is_not_learnt(runs: Path, call: Call) -> None:
    roles = ["system", "user", "assistant", "user", "assistant", "tool", "assistant"]
    messages = [{"role": role, "content": str(number)} for number, role in enumerate(roles)]
    arguments = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "not json"}}
    messages[4]["tool_calls"] = [arguments]  # type: ignore[assignment]
    record = rewrite(journal_of(runs), messages=messages, grade={"reward": 1.0, "correct": True, "details": {}})
    record["turns"] = record["turns"][:1] * 2
    journal_of(runs).write_bytes(encode_line(record))
    (row,) = rows(call("runs", "export", WRONG, "--to", "sft"))
    assert [message.get("train") for message in row["messages"]] == [None, None, False, None, True, None, True]
    assert row["messages"][4]["tool_calls"][0]["function"]["arguments"] == "not json"
    assert sampled_messages({"messages": messages, "turns": []}) == [False] * 7


def test_an_episode_that_failed_is_never_learnt_from(runs: Path, call: Call) -> None:
    rewrite(journal_of(runs), outcome="error", grade=None, error={"kind": "model", "message": "x"})
    assert rows(call("runs", "export", WRONG, "--to", "sft", "--keep", "true")) == []


# -- tokens ---------------------------------------------------------------------------------------------------

SEQUENCES = [
    {"prompt_ids": [1, 2], "response_ids": [3, 4, 5], "loss_mask": [1, 0, 1], "logprobs": [-0.5, 0.0, -0.25]},
    {"prompt_ids": [9], "response_ids": [8], "loss_mask": [1], "logprobs": None},
]


def test_tokens(runs: Path, call: Call) -> None:
    record = rewrite(journal_of(runs), sequences=SEQUENCES)
    found = rows(call("runs", "export", WRONG, "--to", "tokens"))
    assert [row["sequence"] for row in found] == [0, 1] and found[0]["task"] == record["episode"]["task"]
    assert found[0]["input_ids"] == [1, 2, 3, 4, 5] and found[0]["loss_mask"] == [0, 0, 1, 0, 1]
    assert found[0]["logprobs"] == [0.0, 0.0, -0.5, 0.0, -0.25] and found[0]["prompt_length"] == 2
    assert (found[1]["input_ids"], found[1]["logprobs"]) == ([9, 8], None)
    assert rows(call("runs", "export", WRONG, "--to", "sft", "--tokens", "--keep", "true")) == found
    parquet = pytest.importorskip("pyarrow.parquet")
    assert call("runs", "export", WRONG, "--to", "tokens", "-o", "t.parquet").returncode == 0
    assert parquet.read_table(runs.parent / "t.parquet").to_pylist() == found


def test_tokens_of_a_model_that_has_none(runs: Path, call: Call) -> None:
    done = call("runs", "export", WRONG, "--to", "tokens", "-o", "x.jsonl")
    assert done.returncode == 2 and "no episode holds tokens" in done.stderr
    assert names(runs.parent) == ["runs"]


# -- files ----------------------------------------------------------------------------------------------------


def test_a_file_is_not_replaced_unless_asked(runs: Path, call: Call) -> None:
    target = runs.parent / "out.jsonl"
    target.write_text("mine")
    done = call("runs", "export", WRONG, "--to", "jsonl", "-o", target)
    assert done.returncode == 2 and "--force" in done.stderr and target.read_text() == "mine"
    done = call("runs", "export", WRONG, "--to", "jsonl", "-o", target, "--force", "--json")
    assert json.loads(done.stdout) == {"run": WRONG, "file": str(target), "rows": 18, "kept": 18, "episodes": 18}
    assert len(target.read_text().splitlines()) == 18


@pytest.mark.parametrize("to", ["jsonl", "parquet"])
def test_a_device_or_a_pipe_is_never_replaced(to: str, runs: Path, call: Call) -> None:
    pipe = runs.parent / "pipe"
    os.mkfifo(pipe)
    done = call("runs", "export", WRONG, "--to", to, "-o", pipe, "--force")
    assert done.returncode == 2 and "no ordinary file" in done.stderr and pipe.is_fifo()


def test_a_number_that_no_column_holds(runs: Path, call: Call) -> None:
    rewrite(journal_of(runs), seed=2**70)
    done = call("runs", "export", WRONG, "--to", "parquet", "-o", runs.parent / "out.parquet")
    assert done.returncode == 6 and "does not fit its column" in done.stderr
    assert names(runs.parent) == ["runs"]


def test_a_damaged_line_fails_and_leaves_the_old_file(runs: Path, call: Call) -> None:
    target = runs.parent / "out.jsonl"
    target.write_text("old")
    data = journal_of(runs, "02-eval").read_bytes()
    journal_of(runs, "02-eval").write_bytes(data.replace(b'"reward":', b'"rewerd":', 1))
    done = call("runs", "export", WRONG, "--to", "jsonl", "-o", target, "--force")
    assert done.returncode == 6 and "02-eval/trajectories.jsonl:1: damaged record" in done.stderr
    assert target.read_text() == "old" and names(runs.parent) == ["out.jsonl", "runs"]


def test_a_disk_that_refuses(runs: Path) -> None:
    command = f"ulimit -f 1; exec {sys.executable} -B -m aworld_cli runs export {WRONG} --to jsonl -o x.jsonl"
    done = subprocess.run(["bash", "-c", command], cwd=runs.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 6 and "x.jsonl: cannot be written: File too large" in done.stderr
    assert names(runs.parent) == ["runs"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "jsnl"], "did you mean 'jsonl'"),
        (["--to", "parquet"], "--output FILE"),
        (["--to", "sft", "-o", "x.parquet"], "written as JSON lines"),
        (["--to", "jsonl", "--tokens"], "--tokens goes with --to sft"),
        (["--to", "jsonl", "--json"], "--json goes with --output"),
        (["--to", "jsonl", "-o", "."], "is there already"),
        (["--to", "jsonl", "--stage", "evil"], "has no stage 'evil'"),
        ([], "Missing option '--to'"),
    ],
)
def test_wrong_options(arguments: list[str], said: str, runs: Path, call: Call) -> None:
    done = call("runs", "export", WRONG, *arguments)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr, done.stderr


def test_memory_does_not_grow_with_the_run(runs: Path) -> None:
    """60 MB of records leave the process as small as 6 MB of them do."""
    journal = journal_of(runs)
    record = decode_line(journal.read_bytes().splitlines(keepends=True)[0])
    record["messages"] = [{"role": "user", "content": "x" * 60_000}]
    code = (
        "import sys\nfrom aworld_cli.cli.app import main\n"
        f"sys.argv = ['aworld', 'runs', 'export', '{WRONG}', '--to', 'jsonl', '-o', sys.argv[1]]\n"
        "try: main()\nexcept SystemExit as error: assert not error.code\n"
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    peaks = []
    for count in (100, 1_000):
        with journal.open("wb") as file:
            for number in range(count):
                file.write(encode_line({**record, "episode": {"task": str(number), "hash": "0", "sample": 0}}))
        command = [sys.executable, "-c", code, f"{count}.jsonl"]
        done = subprocess.run(command, cwd=runs.parent, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert (runs.parent / "1000.jsonl").stat().st_size > 60_000_000
    assert peaks[1] - peaks[0] < 15_000, peaks  # KiB
