"""`aworld runs show RUN TASK`: a transcript that a person can read and no model can abuse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld_cli.report.plain import clean, safe_json
from aworld_cli.trajectory.journal import decode_line, encode_line
from tests.stored import WRONG, Call


def turn(**more: Any) -> dict[str, Any]:
    counts = {"prompt_tokens": 1234, "completion_tokens": 56, "tool_calls": 0, "tool_errors": 0}
    return {"model_seconds": 1.5, "tool_seconds": 0.0, **counts, "stop": "stop", **more}


def write(runs: Path, **more: Any) -> None:
    """Make the evaluation's journal hold one episode, of the task `the task`."""
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    record = decode_line(journal.read_bytes().splitlines(keepends=True)[0])
    record |= {"episode": {"task": "the task", "hash": "0" * 16, "sample": 0}, **more}
    journal.write_bytes(encode_line(record))


def test_turns_calls_results_grade(runs: Path, call: Call) -> None:
    shown = json.loads(call("runs", "show", WRONG, "--tasks", "--stage", "eval", "--json").stdout.splitlines()[0])
    done = call("runs", "show", WRONG, shown["task"], "--sample", str(shown["sample"]))
    assert done.returncode == 0 and done.stdout.startswith(f"{shown['task']}, sample {shown['sample']}")
    function = {"name": "calculator", "arguments": '{"expression": "1+1", "exact": true}'}
    call_ = {"id": "call_7", "type": "function", "function": function}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "1+1="},
        {"role": "assistant", "content": "I ask.", "tool_calls": [call_]},
        {"role": "tool", "content": "division by zero", "tool_call_id": "call_7", "name": "calculator"},
        {"role": "assistant", "content": "3"},
    ]
    turns = [turn(stop="tool_calls", tool_calls=1, tool_errors=1, tool_seconds=0.25), turn(model_seconds=0.5)]
    grade = {"reward": 0.0, "correct": False, "details": {"expected": "2", "got": "3"}}
    more = {"messages": messages, "turns": turns, "answer": "3", "grade": grade, "seconds": 2.5, "attempts": 2}
    write(runs, outcome="limit", limit="turns", **more)
    text = call("runs", "show", WRONG, "the t").stdout
    expected = """\
the task, sample 0, stage eval
limit, 2 turns, 1 tool call (1 failed), 2.5 s, 2 attempts
model arithmetic-teacher, seed SEED

system
  Be brief.

user
  1+1=

-- turn 1, model 1.5 s, 1,234 + 56 tokens, stop tool_calls, tools 0.25 s, 1 failed
assistant
  I ask.
  calls calculator call_7
    {
      "expression": "1+1",
      "exact": true
    }

tool calculator call_7
  division by zero

-- turn 2, model 0.5 s, 1,234 + 56 tokens, stop stop
assistant
  3

answer
  3

limit met: turns

grade: reward 0, not correct
  expected: 2
  got: 3
"""
    assert re.sub(r"seed \d+", "seed SEED", text) == expected
    assert json.loads(call("runs", "show", WRONG, "the task", "--json").stdout)["messages"] == messages


def test_an_error_with_its_traceback(runs: Path, call: Call) -> None:
    error = {
        "kind": "plugin",
        "message": "ValueError: x\x1b[2J",
        "traceback": "Traceback\n  File 'a.py', line 1\nValueError",
    }
    write(runs, outcome="error", error=error, grade=None, answer=None)
    text = call("runs", "show", WRONG, "the task").stdout
    assert "error: plugin\n  ValueError: x\n    Traceback\n      File 'a.py', line 1\n" in text


NASTY = (
    "a\x1b[31mred\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b(B\x9b2J\x9d0;t\x9c"
    "\u202egnp.exe\x00\x08\rz [bold]b[/bold] [/]"
)


def test_a_model_cannot_steer_the_terminal(runs: Path, call: Call) -> None:
    calls = [{"id": NASTY, "type": "function", "function": {"name": NASTY, "arguments": NASTY}}]
    messages = [{"role": "user", "content": NASTY}, {"role": "assistant", "content": NASTY, "tool_calls": calls}]
    messages.append({"role": "tool", "content": NASTY, "name": NASTY, "tool_call_id": NASTY})
    grade = {"reward": 1.0, "correct": True, "details": {NASTY: NASTY}}
    more = {"messages": messages, "turns": [turn(stop=NASTY)], "answer": NASTY, "grade": grade, "model": NASTY}
    write(runs, limit=NASTY, outcome="limit", **more)
    outputs = [call("runs", "show", WRONG, "the task", *options).stdout for options in ([], ["--full"], ["--json"])]
    outputs.append(call("runs", "show", WRONG).stdout)
    for text in outputs:
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert "[bold]b[/bold] [/]" in outputs[0] and r"ared" in outputs[0] and r"\u202egnp.exe\x00\x08\x0dz" in outputs[0]
    assert json.loads(outputs[2])["messages"] == messages


def test_on_a_real_terminal_too(runs: Path) -> None:
    write(runs, messages=[{"role": "user", "content": NASTY}], answer=None, turns=[])
    command = [
        "script",
        "-qec",
        f"stty cols 40; {sys.executable} -m aworld_cli runs show {WRONG} 'the task'",
        "/dev/null",
    ]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    done = subprocess.run(
        command, cwd=runs.parent, capture_output=True, stdin=subprocess.DEVNULL, check=True, env=environment
    )
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode())  # our own styles
    assert "\x1b" not in text and "\x9b" not in text and "[bold]b[/bold]" in text
    assert max(map(len, text.splitlines())) <= 40


def test_forty_columns(runs: Path, call: Call) -> None:
    long = "word " * 50 + "x" * 100 + "漢字" * 40
    write(runs, messages=[{"role": "user", "content": long}], answer=None, turns=[turn()])
    text = call("runs", "show", WRONG, "the task", env={"COLUMNS": "40"}).stdout
    widths = [sum(2 if ord(letter) > 0x2E80 else 1 for letter in line) for line in text.splitlines()]
    assert max(widths) <= 40 and not [line for line in text.splitlines() if line != line.rstrip()]
    squeezed = re.sub(r"\s", "", text)
    assert re.sub(r"\s", "", long) in squeezed
    for command in (["runs"], ["runs", "show", WRONG], ["runs", "show", WRONG, "--tasks"]):
        lines = call(*command, env={"COLUMNS": "40"}).stdout.splitlines()
        assert max(map(len, lines)) <= 40, command


def test_long_texts_are_cut_unless_asked_for(runs: Path, call: Call) -> None:
    write(runs, messages=[{"role": "user", "content": "y" * 5_000}, {"role": "user", "content": "l\n" * 100}], turns=[])
    text = call("runs", "show", WRONG, "the task").stdout
    assert (
        text.count("y") < 2_100
        and "... 3,000 more characters (--full shows them)" in text
        and text.count("  l\n") == 40
    )
    whole = call("runs", "show", WRONG, "the task", "--full").stdout
    assert whole.count("y") >= 5_000 and whole.count("  l\n") == 100


def test_a_worked_example_in_the_prompt_is_no_turn(runs: Path, call: Call) -> None:
    messages = [{"role": role, "content": role[0]} for role in ("user", "assistant", "user", "assistant")]
    write(runs, messages=messages, turns=[turn(), turn()][:1])
    text = call("runs", "show", WRONG, "the task").stdout
    assert text.index("-- turn 1") > text.index("assistant\n  a\n\nuser\n  u\n\n--") and text.count("-- turn") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["the tusk"], "did you mean 'the task'?"),
        (["zzz"], "--tasks (the first is"),
        (["the task", "--sample", "3"], "has no sample 3 in eval; it has 0"),
        (["the task", "--stage", "evil"], "has no stage 'evil'; its stages: rollout, eval"),
        (["the task", "--tasks"], "one of the two"),
        (["--sample", "1"], "--sample goes with a TASK"),
    ],
)
def test_a_task_that_is_not_there(arguments: list[str], said: str, runs: Path, call: Call) -> None:
    write(runs)
    done = call("runs", "show", WRONG, *arguments)
    assert (done.returncode, done.stdout) == (2, "") and said in done.stderr


def test_a_beginning_that_several_have(runs: Path, call: Call) -> None:
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    first = decode_line(journal.read_bytes().splitlines(keepends=True)[0])
    episodes = [{"task": f"t{number}", "hash": "0", "sample": 0} for number in range(9)]
    journal.write_bytes(b"".join(encode_line({**first, "episode": episode}) for episode in episodes))
    done = call("runs", "show", WRONG, "t")
    assert done.returncode == 2 and "'t' is the beginning of 9 tasks: 't0', 't1', " in done.stderr
    journal.write_bytes(
        b"".join(encode_line({**first, "episode": {**first["episode"], "sample": n}}) for n in range(2))
    )
    done = call("runs", "show", WRONG, first["episode"]["task"])
    assert "sample 0 (others: 1), stage eval" in done.stdout


@given(st.text())
def test_what_is_cleaned_holds_no_control(text: str) -> None:
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", clean(text))
    clean(text).encode()


@given(st.text(st.characters()))
def test_safe_json_reads_back_equal(text: str) -> None:
    shown = safe_json({"t": text})
    assert json.loads(shown) == {"t": text} and not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", shown)
    shown.encode()
