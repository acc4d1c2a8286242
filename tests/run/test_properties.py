"""Properties of runs: what is selected is accounted for, and no kill, damage or repeat changes what a run comes to."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aworld_cli.errors import MachineError, Stopped, TooManyErrors
from aworld_cli.host.registry import Registry
from aworld_cli.report.metrics import Tally, pass_at_k
from aworld_cli.run.stopping import Stopping
from aworld_cli.trajectory.journal import Journal, encode_line, read_journal
from tests.run import parts
from tests.run.parts import ANSWERS, FAILURES, WORLD, execute, results

STAGES = ("01-rollout", "02-sft", "03-eval")
OUTCOMES = st.sampled_from([*ANSWERS, *FAILURES])
#: Where a sync is free, if there is such a place: many small runs are made.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def registry() -> Registry:
    return parts.registry()


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY) as path:
        yield Path(path)


def outcomes(tasks: int, choice: st.SearchStrategy[str]) -> st.SearchStrategy[dict[tuple[str, int], str]]:
    keys = [(split, number) for split in ("train", "test") for number in range(tasks)]
    return st.fixed_dictionaries(dict.fromkeys(keys, choice))


def begin(given: dict[tuple[str, int], str], *, heals: bool = False) -> None:
    WORLD.outcomes, WORLD.heals = given, heals
    WORLD.asked.clear()
    WORLD.failed.clear()


# -- what was selected is accounted for -----------------------------------------------------------------------------


@few
@given(given=outcomes(4, OUTCOMES), samples=st.integers(1, 3))
def test_the_parts_sum_to_what_was_selected(
    given: dict[tuple[str, int], str], samples: int, registry: Registry
) -> None:
    begin(given)
    with TemporaryDirectory(dir=MEMORY) as path:
        plan = parts.plan(Path(path), registry, tasks=4, samples=samples)
        summaries = execute(plan, Path(path) / "run")
    for summary, split in zip(summaries, ("train", "test"), strict=True):
        made = [given[split, number] for number in range(4)]
        counts = summary.counts
        assert counts == {
            "selected": 4 * samples,
            "correct": samples * sum(outcome in ("right", "cut right") for outcome in made),
            "wrong": samples * sum(outcome in ("wrong", "ungraded") for outcome in made),
            "limit": samples * made.count("cut wrong"),
            "error": samples * sum(outcome in FAILURES for outcome in made),
            "missing": 0,
        }
        assert counts["selected"] == sum(value for key, value in counts.items() if key != "selected")
        if all(outcome in (*FAILURES, "ungraded") for outcome in made) and "ungraded" in made:
            assert "pass@1" not in summary.metrics  # no grade says what is correct
        else:
            figure = summary.metrics["pass@1"]
            assert figure["value"] == round(counts["correct"] / counts["selected"], 6)
            assert figure["n"] == counts["selected"] and 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1


def test_episodes_that_run_out_of_time_are_errors_and_count(folder: Path, registry: Registry) -> None:
    begin({(split, n): parts.TIMEOUT for split in ("train", "test") for n in range(2)})
    plan = parts.plan(folder, registry, tasks=2, timeout=0.05)
    for summary in execute(plan, folder / "run"):
        assert summary.counts == {"selected": 2, "correct": 0, "wrong": 0, "limit": 0, "error": 2, "missing": 0}
        assert (summary.metrics["pass@1"]["value"], summary.metrics["pass@1"]["n"]) == (0.0, 2)


RECORDS = st.lists(
    st.tuples(
        st.integers(0, 4),  # the task; 4 was not selected
        st.integers(0, 3),  # the sample; 3 was not selected
        st.sampled_from(["answered", "limit", "error", "cancelled"]),
        st.sampled_from([True, False, None]),
    ),
    max_size=40,
)


@given(records=RECORDS)
def test_any_journal_sums_up_and_of_two_records_the_later_counts(records: list[tuple[int, int, str, Any]]) -> None:
    tally = Tally([(f"t{n}", "h") for n in range(4)], 3)
    last: dict[tuple[int, int], tuple[str, Any]] = {}
    for task, sample, outcome, correct in records:
        grade = {"reward": float(bool(correct)), "correct": correct} if outcome in ("answered", "limit") else None
        episode = {"task": f"t{task}", "hash": "h", "sample": sample}
        tally.add({"episode": episode, "outcome": outcome, "grade": grade, "turns": []})
        if task < 4 and sample < 3:
            last[task, sample] = (outcome, correct)
    counts, final = tally.counts(), list(last.values())
    assert counts.pop("selected") == 12 == sum(counts.values())
    right = sum(outcome in ("answered", "limit") and correct is True for outcome, correct in final)
    assert counts["correct"] == right and counts["error"] == sum(outcome == "error" for outcome, _ in final)
    settled = {(int(task[1:]), sample) for task, _, sample in tally.settled()}
    assert settled == {key for key, (outcome, _) in last.items() if outcome in ("answered", "limit")}
    metrics = tally.metrics((1, 3))
    if "pass@1" in metrics:
        assert metrics["pass@1"].value == pytest.approx(right / 12) and metrics["pass@1"].n == 12
        by_task = [
            sum(last.get((n, s), ("", None))[1] is True and last[n, s][0] in ("answered", "limit") for s in range(3))
            for n in range(4)
        ]
        assert metrics["pass@3"].value == pytest.approx(sum(pass_at_k(3, c, 3) for c in by_task) / 4)


# -- a kill at any point --------------------------------------------------------------------------------------------


class Whole:
    """An uninterrupted run, and copies of it as a kill at some point would have left them."""

    def __init__(self, folder: Path, registry: Registry, given: dict[tuple[str, int], str]) -> None:
        begin(given)
        self.folder = folder
        self.plan = parts.plan(folder, registry, tasks=3, samples=2, sft=True)
        self.path = folder / "whole"
        self.results = results(execute(self.plan, self.path))

    def journal(self, stage: str, run: Path | None = None) -> Path:
        return (run or self.path) / "stages" / stage / "trajectories.jsonl"

    def killed(self, stage: int, keep: int | None = None, *, summary: bool = True) -> tuple[Path, set[str]]:
        """Return a run that was killed in a stage, and the episodes that it had settled.

        Args:
            keep: bytes of the stage's journal that had reached the disk; all of them if absent.
            summary: whether the run's own summary.json had.
        """
        run = self.folder / "killed"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(self.path, run)
        for later in STAGES[stage + 1 :]:
            shutil.rmtree(run / "stages" / later)
        if stage <= 1:
            shutil.rmtree(run / "checkpoints")
        (run / "stages" / STAGES[stage] / "summary.json").unlink()
        if not summary:
            (run / "summary.json").unlink()
        journal = self.journal(STAGES[stage], run)
        if keep is not None and journal.exists():
            with journal.open("r+b") as file:
                file.truncate(keep)
        settled = {
            record["episode"]["task"] + f" {record['episode']['sample']}"
            for name in STAGES
            for record in read_journal(self.journal(name, run))
            if record["outcome"] in ("answered", "limit")
        }
        return run, settled

    def identities(self, run: Path) -> list[str]:
        return [
            f"{record['episode']['task']} {record['episode']['sample']}"
            for name in STAGES
            for record in read_journal(self.journal(name, run))
            if record["outcome"] in ("answered", "limit")
        ]


@few
@given(
    given=outcomes(3, st.sampled_from([*ANSWERS, "error"])),
    stage=st.integers(0, 2),
    where=st.floats(0, 1),
    summary=st.booleans(),
)
def test_a_kill_at_any_point_changes_nothing(
    given: dict[tuple[str, int], str], stage: int, where: float, summary: bool, registry: Registry
) -> None:
    with TemporaryDirectory(dir=MEMORY) as path:
        whole = Whole(Path(path), registry, given)
        journal = whole.journal(STAGES[stage])
        size = journal.stat().st_size if journal.exists() else 0
        run, settled = whole.killed(stage, round(where * size), summary=summary)
        WORLD.asked.clear()
        assert results(execute(whole.plan, run)) == whole.results
        assert sorted(whole.identities(run)) == sorted(set(whole.identities(run)))  # none was run twice
        asked_again = [said for said in WORLD.asked if f"{said} 0" in settled and f"{said} 1" in settled]
        assert not asked_again
        assert results(execute(whole.plan, run)) == whole.results


def test_a_kill_at_any_byte_of_a_journal_changes_nothing(folder: Path, registry: Registry) -> None:
    given = {("train", n): "right" for n in range(3)} | {("test", n): ANSWERS[n] for n in range(3)}
    whole = Whole(folder, registry, given)
    text = whole.journal("03-eval").read_bytes()
    ends = [at + 1 for at, byte in enumerate(text) if byte == ord("\n")]
    near = {0, *(end + step for end in ends for step in (-2, -1, 0, 1)), *range(0, len(text), 97)}
    for keep in sorted(at for at in near if at <= len(text)):
        run, settled = whole.killed(2, keep, summary=True)
        assert len([name for name in settled if name.startswith("test")]) == sum(end <= keep for end in ends)
        WORLD.asked.clear()
        assert results(execute(whole.plan, run)) == whole.results
        # A reply that was cut is asked for once more within its episode, which is one conversation.
        assert len(WORLD.asked) == 6 - sum(end <= keep for end in ends)


def test_stopping_again_and_again_comes_to_the_same(folder: Path, registry: Registry) -> None:
    given = {(split, n): ANSWERS[(n + len(split)) % 5] for split in ("train", "test") for n in range(3)}
    whole = Whole(folder, registry, given)
    run = folder / "stopped"
    WORLD.asked.clear()
    for _ in range(30):
        stopping = Stopping()
        enough = len(WORLD.asked) + 1
        stopping.until_asked = lambda items, stop=stopping, enough=enough: _until(items, stop, enough)  # type: ignore[method-assign, misc]
        try:
            done = execute(whole.plan, run, stopping=stopping)
        except Stopped:
            assert json.loads((run / "summary.json").read_text())["status"] == "stopped"
            continue
        break
    assert results(done) == whole.results and len(WORLD.asked) == 12


def _until(items: Any, stopping: Stopping, enough: int) -> Iterator[Any]:
    for item in items:
        if len(WORLD.asked) >= enough:
            stopping.requested = True
            return
        yield item


# -- what is run again ----------------------------------------------------------------------------------------------


@few
@given(given=outcomes(4, OUTCOMES))
def test_resuming_runs_failures_again_and_never_a_wrong_answer(
    given: dict[tuple[str, int], str], registry: Registry
) -> None:
    begin(given, heals=True)
    failing = {f"{split} {number}" for (split, number), outcome in given.items() if outcome in FAILURES}
    with TemporaryDirectory(dir=MEMORY) as path:
        plan = parts.plan(Path(path), registry, tasks=4)
        first = execute(plan, Path(path) / "run")
        asked = [*WORLD.asked]
        second = execute(plan, Path(path) / "run")
        # What was tried again within the first run is no failure of it.
        left = {said for said in failing if asked.count(said) == 1}
        assert sorted(WORLD.asked[len(asked) :]) == sorted(left)
        for before, after in zip(first, second, strict=True):
            assert after.counts["wrong"] == before.counts["wrong"] and after.counts["error"] == 0
            assert after.counts["correct"] == before.counts["correct"] + before.counts["error"]
        WORLD.asked.clear()
        assert results(execute(plan, Path(path) / "run")) == results(second) and not WORLD.asked


def test_what_would_be_learnt_without_failures_can_be_run_again(folder: Path, registry: Registry) -> None:
    given = {(split, n): "right" for split in ("train", "test") for n in range(3)} | {("train", 1): "bug"}
    begin(given, heals=True)
    plan = parts.plan(folder, registry, tasks=3, sft=True)
    with pytest.raises(TooManyErrors, match="1 episodes of 'rollout' failed"):
        execute(plan, folder / "run", max_errors=0)
    assert [summary.errors for summary in execute(plan, folder / "run", max_errors=0)] == [0, 0, 0]
    assert WORLD.asked.count("train 1") == 2 and WORLD.asked.count("train 0") == 1


# -- damage ---------------------------------------------------------------------------------------------------------


def record(number: int) -> dict[str, Any]:
    return {"episode": {"task": f"t{number}", "hash": "h", "sample": 0}, "outcome": "answered", "answer": "é\n"}


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80, 0xFF])
def test_a_flipped_byte_anywhere_is_found_or_in_the_tail(flip: int, tmp_path: Path) -> None:
    path = tmp_path / "trajectories.jsonl"
    lines = [encode_line(record(n)) for n in range(3)]
    whole = b"".join(lines)
    starts = [0, len(lines[0]), len(lines[0]) + len(lines[1])]
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= flip
        path.write_bytes(damaged)
        number = sum(start <= at for start in starts)
        if at == len(whole) - 1:  # the last line's end: it looks torn, and is run again
            assert [item["episode"]["task"] for item in read_journal(path)] == ["t0", "t1"]
            continue
        with pytest.raises(MachineError) as caught:
            list(read_journal(path))
        assert str(caught.value).startswith(f"{path}:{number}: damaged record; "), at
        assert path.read_bytes() == damaged  # nothing is lost by looking


@few
@given(at=st.floats(0, 0.999), flip=st.integers(1, 255))
def test_a_run_on_a_damaged_journal_ends_with_its_line_or_comes_to_the_same(
    at: float, flip: int, registry: Registry
) -> None:
    given = {("train", n): "right" for n in range(3)} | {("test", n): ANSWERS[n] for n in range(3)}
    with TemporaryDirectory(dir=MEMORY) as path:
        whole = Whole(Path(path), registry, given)
        run, _ = whole.killed(2)
        journal = whole.journal("03-eval", run)
        text = bytearray(journal.read_bytes())
        text[int(at * len(text))] ^= flip
        journal.write_bytes(text)
        for _ in range(3):  # a byte that became a line break makes two damaged lines of one
            before = journal.read_bytes()
            try:
                assert results(execute(whole.plan, run)) == whole.results
            except MachineError as error:
                assert journal.read_bytes() == before  # nothing is lost by looking
                found = re.fullmatch(
                    re.escape(str(journal)) + r":(\d+): damaged record; .* delete that line", str(error)
                )
                assert found is not None, error
                kept = before.splitlines(keepends=True)
                journal.write_bytes(b"".join(kept[: int(found[1]) - 1] + kept[int(found[1]) :]))  # as the text says
            else:
                return
        raise AssertionError("deleting the damaged lines did not help")


def test_a_record_that_stands_twice_counts_once(folder: Path, registry: Registry) -> None:
    given = {(split, n): ANSWERS[n] for split in ("train", "test") for n in range(3)}
    whole = Whole(folder, registry, given)
    run, _ = whole.killed(2)
    records = list(read_journal(whole.journal("03-eval", run)))
    with Journal(whole.journal("03-eval", run)) as journal:
        for item in records:
            journal.append(item)
    WORLD.asked.clear()
    assert results(execute(whole.plan, run)) == whole.results and not WORLD.asked
