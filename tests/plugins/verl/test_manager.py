"""The manager: whatever happens, every group ends, and the waiting trainer hears of it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Coroutine, Iterator
from types import ModuleType
from typing import Any

import pytest

from aworld_verl.episodes import Generate, Sample, Sampled
from aworld_verl.settings import TrainSettings

pytestmark = pytest.mark.filterwarnings("ignore")


class FakeQueue:
    """Records what TransferQueue would hold; `broken` says which puts raise."""

    def __init__(self) -> None:
        self.status: dict[str, list[str]] = {}
        self.rows: dict[str, dict[str, Any]] = {}
        self.puts = 0
        self.broken: set[str] = set()

    async def async_kv_batch_put(
        self, keys: list[str], partition: str, fields: Any = None, tags: list[dict[str, Any]] | None = None
    ) -> None:
        kind = "rows" if fields is not None else "status"
        if kind in self.broken:
            raise ConnectionError("the queue is gone")
        assert tags is not None
        if fields is None:
            for key, tag in zip(keys, tags, strict=True):
                self.status.setdefault(key, []).append(tag["status"])
        else:
            self.puts += 1
            assert fields.batch_size[0] == len(keys)
            self.rows.update(zip(keys, tags, strict=True))


class Host:
    """Runs submitted work at once."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def source(self) -> Any:
        return self._source

    def submit(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            asyncio.run(work)
        except Exception:
            return


class Source:
    """One token an episode; rewards 0..n-1 by sample; tasks in `fail` raise, those in `empty` give nothing."""

    def __init__(self, fail: set[str] | None = None, empty: set[str] | None = None) -> None:
        self.fail, self.empty, self.cancelled = fail or set(), empty or set(), 0

    async def episode(self, task_id: str, sample: int, step: int, validate: bool, generate: Generate) -> list[Sample]:
        if task_id in self.fail:
            if sample == 0:
                raise OSError("the tool server died")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        out = await generate([1, 2], max_tokens=1, temperature=1.0, top_p=1.0, seed=0, request_id="r")
        return [] if task_id in self.empty else [Sample([1, 2], out.ids, [1], out.logprobs, float(sample))]


async def generate(prompt_ids: list[int], **unused: Any) -> Sampled:
    return Sampled([7], [-0.5], "stop")


@pytest.fixture(scope="module")
def modules() -> tuple[ModuleType, ModuleType]:
    with warnings.catch_warnings(action="ignore"):
        from aworld_verl import manager, sampler
    return manager, sampler


@pytest.fixture
def queue(modules: tuple[ModuleType, ModuleType], monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeQueue]:
    fake = FakeQueue()
    monkeypatch.setattr(modules[0], "tq", fake)
    modules[1]._failure.clear()
    yield fake
    modules[1]._failure.clear()


def run(
    modules: tuple[ModuleType, ModuleType], source: Source, tasks: list[str], **settings: Any
) -> list[BaseException]:
    """Hand one step to a manager; returns what the waiting trainer would raise."""
    values = TrainSettings(model_path="m", tasks_file="t", out_dir="o", source="a:b", samples=4, **settings)
    manager = modules[0].AworldLoopManager(values, Host(source), generate)
    manager.generate_sequences({"uid": [f"u{t}" for t in tasks], "task_id": tasks, "global_steps": 3})
    return list(modules[1]._failure)


def test_groups_finish_and_go_into_the_queue_in_one_put(
    modules: tuple[ModuleType, ModuleType], queue: FakeQueue
) -> None:
    assert run(modules, Source(), ["a", "b", "c"]) == []
    assert queue.status == {u: ["running", "finished"] for u in ("ua", "ub", "uc")}
    assert queue.puts == 1
    assert len(queue.rows) == 12
    assert queue.rows["ua_0_0"] | {} == {
        "status": "success", "prompt_len": 2, "response_len": 1, "seq_len": 3,
        "global_steps": 3, "min_global_steps": 2, "max_global_steps": 2, "order": 0,
    }  # fmt: skip


def test_a_failed_group_is_dropped_and_its_siblings_are_cancelled(
    modules: tuple[ModuleType, ModuleType], queue: FakeQueue
) -> None:
    source = Source(fail={"b"})
    assert run(modules, source, ["a", "b"]) == []
    assert queue.status == {"ua": ["running", "finished"], "ub": ["running", "failure"]}
    assert source.cancelled == 3
    assert not any(key.startswith("ub") for key in queue.rows)


def test_an_episode_without_samples_fails_its_group(modules: tuple[ModuleType, ModuleType], queue: FakeQueue) -> None:
    run(modules, Source(empty={"b"}), ["a", "b"])
    assert queue.status["ub"] == ["running", "failure"]


def test_when_all_groups_fail_the_trainer_raises_the_first_error(
    modules: tuple[ModuleType, ModuleType], queue: FakeQueue
) -> None:
    [error] = run(modules, Source(fail={"a", "b"}), ["a", "b"])
    assert str(error) == "task a: OSError: the tool server died"
    assert queue.status == {"ua": ["running", "failure"], "ub": ["running", "failure"]}


def test_groups_end_when_their_samples_cannot_be_put(modules: tuple[ModuleType, ModuleType], queue: FakeQueue) -> None:
    queue.broken = {"rows"}
    [error] = run(modules, Source(), ["a", "b"])
    assert isinstance(error, ConnectionError)
    assert {s[-1] for s in queue.status.values()} == {"failure"}


def test_the_trainer_is_told_when_the_queue_itself_is_gone(
    modules: tuple[ModuleType, ModuleType], queue: FakeQueue
) -> None:
    queue.broken = {"rows", "status"}
    assert all(isinstance(error, ConnectionError) for error in run(modules, Source(), ["a"]))
    assert modules[1]._failure


def test_shuffled_rewards_are_a_permutation_that_the_seed_fixes(modules: tuple[ModuleType, ModuleType]) -> None:
    from aworld_verl.batch import Group, rows_of

    def dealt(seed: int) -> list[float]:
        episodes = [[Sample([1], [2], [1], [0.0], float(i))] for i in range(64)]
        rows = rows_of(Group("u", "t", 0), episodes)
        modules[0].shuffle_rewards(rows, seed=seed, step=1)
        return [row.reward for row in rows]

    assert sorted(dealt(0)) == [float(i) for i in range(64)]
    assert dealt(0) == dealt(0)
    assert dealt(0) != dealt(1)
    assert dealt(0) != sorted(dealt(0))


def test_the_parts_of_an_episode_share_its_last_reward(modules: tuple[ModuleType, ModuleType]) -> None:
    from aworld_verl.batch import Group, rows_of

    rows = rows_of(Group("u", "t", 0), [[Sample([1], [2], [1], [0.0], 0.0), Sample([1], [2], [1], [0.0], 1.0)]])
    assert [(row.key, row.reward) for row in rows] == [("u_0_0", 1.0), ("u_0_1", 1.0)]
