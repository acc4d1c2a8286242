"""`aworld runs diff`, and the statistics behind it."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld_cli.report.paired import paired_difference, sign_test
from aworld_cli.trajectory.journal import decode_line, encode_line
from tests.stored import RIGHT, WRONG, Call


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_settings_and_results(runs: Path, call: Call) -> None:
    found = json.loads(call("runs", "diff", RIGHT, WRONG, "--json", "--tasks").stdout)
    assert found["settings"] == [
        {"key": "name", "of": "both", "a": "right", "b": "wrong"},
        {"key": "model.accuracy", "of": "both", "a": 1.0, "b": 0.3},
    ]
    assert (found["versions"], found["machine"], found["only_a"]) == ([], [], [])
    rollout, evaluation = found["stages"]
    assert rollout["paired"] is None and rollout["kind"] == "rollout"
    a, b = (evaluation["metrics"][side]["pass@1"]["value"] for side in "ab")
    paired = evaluation["paired"]
    assert (a, paired["tasks"], paired["score"], paired["better"]) == (1.0, 6, "correct", 0) and b < 1
    assert evaluation["difference"]["pass@1"] == pytest.approx(b - a)
    assert paired["difference"]["value"] == pytest.approx(b - a, abs=1e-6)
    assert paired["difference"]["low"] < b - a < paired["difference"]["high"] <= 1
    assert len(paired["worse_tasks"]) == paired["worse"] > 0 and all(item["b"] < 1 for item in paired["worse_tasks"])
    assert paired["p"] == pytest.approx(sign_test(0, paired["worse"]), abs=1e-6)
    text = call("runs", "diff", RIGHT, WRONG, "--tasks").stdout
    assert "model.accuracy" in text and "on the same 6 tasks" in text and paired["worse_tasks"][0]["task"] in text


def test_equal_runs(runs: Path, call: Call) -> None:
    found = json.loads(call("runs", "diff", "-1", "latest", "--json").stdout)
    assert [found[part] for part in ("settings", "versions", "machine", "git")] == [[], [], [], []]
    paired = found["stages"][1]["paired"]
    assert (paired["difference"]["value"], paired["p"], paired["better"], paired["worse"]) == (0, 1, 0, 0)
    assert paired["difference"]["low"] < 0 < paired["difference"]["high"]
    assert "equal: settings, versions" in call("runs", "diff", "-1", "-1").stdout


def test_versions_machine_and_settings_of_one_side(runs: Path, call: Call) -> None:
    lock = json.loads((runs / WRONG / "lock.json").read_text())
    versions = {**lock["distributions"], "pydantic": "0.1", "added": "2"}
    recipe = {**lock["recipe"], "agent": {"kind": "react", "max_turns": 2}}
    machine = {**lock["machine"], "cores": 1_000}
    change(runs / WRONG / "lock.json", distributions=versions, python="3.99", recipe=recipe, machine=machine)
    found = json.loads(call("runs", "diff", RIGHT, WRONG, "--json").stdout)
    assert {"key": "agent.max_turns", "of": "b", "a": None, "b": 2} in found["settings"]
    assert [item["key"] for item in found["versions"]] == ["python", "pydantic", "added"]
    assert [item["key"] for item in found["machine"]] == ["cores"]
    text = call("runs", "diff", RIGHT, WRONG).stdout
    assert "3.99" in text and "max_turns" in text


def test_only_tasks_of_equal_data_are_compared(runs: Path, call: Call) -> None:
    journal = runs / WRONG / "stages/02-eval/trajectories.jsonl"
    records = [decode_line(line) for line in journal.read_bytes().splitlines(keepends=True)]
    changed = records[0]["episode"]["task"]
    for record in records:
        if record["episode"]["task"] == changed:
            record["episode"]["hash"] = "f" * 16
    journal.write_bytes(b"".join(map(encode_line, records)))
    paired = json.loads(call("runs", "diff", RIGHT, WRONG, "--json").stdout)["stages"][1]["paired"]
    assert (paired["tasks"], paired["only_a"], paired["only_b"]) == (5, 1, 1)


def test_a_stage_that_has_not_ended(runs: Path, call: Call) -> None:
    (runs / WRONG / "stages/02-eval/summary.json").unlink()
    done = call("runs", "diff", RIGHT, WRONG, "--json")
    stage = json.loads(done.stdout)["stages"][1]
    assert done.returncode == 0 and stage["counts"]["b"] is None and stage["paired"] is None
    assert call("runs", "diff", RIGHT, WRONG).returncode == 0


def test_grades_that_say_nothing_of_correct_are_compared_by_reward(runs: Path, call: Call) -> None:
    for run, reward in ((RIGHT, 0.25), (WRONG, 0.75)):
        journal = runs / run / "stages/02-eval/trajectories.jsonl"
        records = [decode_line(line) for line in journal.read_bytes().splitlines(keepends=True)]
        for record in records:
            record["grade"] = {"reward": reward, "correct": None, "details": {}}
        journal.write_bytes(b"".join(map(encode_line, records)))
    paired = json.loads(call("runs", "diff", RIGHT, WRONG, "--json").stdout)["stages"][1]["paired"]
    assert (paired["score"], paired["difference"]["value"], paired["better"]) == ("reward", 0.5, 6)


def test_a_run_that_is_not_there(runs: Path, call: Call) -> None:
    assert call("runs", "diff", RIGHT, "nothing").returncode == 2


def test_the_sign_test_is_mcnemars_exact_one() -> None:
    assert sign_test(0, 0) == 1.0 and sign_test(3, 3) == 1.0
    assert sign_test(0, 5) == sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(2, 10) == pytest.approx(2 * (1 + 12 + 66) / 4096)
    assert 0 < sign_test(0, 3_000) < 1e-300 or sign_test(0, 3_000) == 0.0


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1, max_size=200))
def test_the_interval_holds_the_mean_and_is_never_empty(differences: list[float]) -> None:
    found = paired_difference(differences)
    assert found.value == pytest.approx(math.fsum(differences) / len(differences))
    assert -1 <= found.low <= found.value <= found.high <= 1 and found.low < found.high
    mirrored = paired_difference([-value for value in differences])
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_the_interval_of_a_published_example() -> None:
    """12 pairs turn one way, 2 the other, 86 do not: Agresti and Min's interval, worked out by hand."""
    found = paired_difference([1.0] * 12 + [-1.0] * 2 + [0.0] * 86)
    half = 1.959964 * math.sqrt((12.5 + 2.5) - (12.5 - 2.5) ** 2 / 102) / 102
    assert (found.low, found.high) == pytest.approx((10 / 102 - half, 10 / 102 + half), abs=1e-6)


@pytest.mark.parametrize(("better", "worse"), [(0.1, 0.1), (0.2, 0.05), (0.02, 0.0)])
def test_the_interval_covers_as_often_as_it_says(better: float, worse: float) -> None:
    source = random.Random(0)
    covered = 0
    for _ in range(1_000):
        draws = [source.random() for _ in range(60)]
        found = paired_difference([1.0 if u < better else -1.0 if u < better + worse else 0.0 for u in draws])
        covered += found.low <= better - worse <= found.high
    assert covered >= 930
