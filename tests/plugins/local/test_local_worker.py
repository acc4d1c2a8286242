"""The worker process: it alone has PyTorch, it is started again when it dies, and it never outlives its parent."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import ValidationError

from aworld_arithmetic.environment import ArithmeticConfig, arithmetic
from aworld_cli.errors import ContextOverflow, EpisodeError, MachineError
from aworld_cli.model import Generation, ModelContext, SamplingParams, TokenModel
from aworld_local.engine import Engine
from aworld_local.model import LocalConfig, LocalModel, local

pytestmark = pytest.mark.usefixtures("no_strays")
PROMPTS = [[9, 20 + n, 30, 31 + n] for n in range(12)]
#: Too long to end by itself within a test, unless the end token is drawn.
LONG = 1_900


def params(seed: int, max_tokens: int = 8) -> SamplingParams:
    return SamplingParams(temperature=1.0, top_p=1.0, max_tokens=max_tokens, seed=seed)


def use(work: Callable[[LocalModel], Awaitable[Any]], config: dict[str, Any], run_dir: Path, **context: Any) -> Any:
    """Make a model in a run of its own, have `work` use it, and close the run."""

    async def main() -> Any:
        shared: dict[str, Any] = {}
        given = ModelContext(run_dir=run_dir, seed=0, shared=shared, **context)
        model = local(LocalConfig.model_validate(config), given)
        try:
            return await work(model)
        finally:
            await model.close()
            for value in shared.values():
                await value.close()

    return asyncio.run(asyncio.wait_for(main(), 100))


async def sampled(model: LocalModel, seed: int = 0) -> list[Generation]:
    calls = (model.generate(prompt, params(seed + n), "r") for n, prompt in enumerate(PROMPTS))
    return list(await asyncio.gather(*calls))


def worker_pid() -> int:
    found = [
        child.pid
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE and "aworld_local.worker" in " ".join(child.cmdline())
    ]
    assert len(found) == 1
    return int(found[0])


async def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


def test_it_samples_what_the_engine_samples(policy: Path, tmp_path: Path) -> None:
    async def work(model: LocalModel) -> list[Generation]:
        await model.start()
        assert isinstance(model, TokenModel)
        with pytest.raises(ContextOverflow, match="5000 tokens") as caught:
            await model.generate([9] * 5_000, params(0), "r")
        assert not caught.value.retryable
        return await sampled(model)

    made = use(work, {"path": str(policy)}, tmp_path)

    async def direct() -> list[Any]:
        engine = Engine(str(policy))
        calls = (engine.generate(prompt, max_tokens=8, seed=n) for n, prompt in enumerate(PROMPTS))
        found = await asyncio.gather(*calls)
        await engine.close()
        return list(found)

    for one, other in zip(made, asyncio.run(direct()), strict=True):
        assert (one.ids, one.stop) == (other.ids, other.stop_reason)
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-5)


def test_a_killed_worker_fails_its_calls_and_is_started_again(policy: Path, tmp_path: Path) -> None:
    async def work(model: LocalModel) -> None:
        await model.start()
        before = await sampled(model)
        first = worker_pid()
        calls = [asyncio.create_task(model.generate([9], params(n, LONG), "r")) for n in range(64)]
        await asyncio.sleep(0.1)
        os.kill(first, signal.SIGKILL)
        results = await asyncio.gather(*calls, return_exceptions=True)
        failed = [result for result in results if isinstance(result, BaseException)]
        assert failed
        for error in failed:
            assert isinstance(error, EpisodeError)
            assert (error.kind, error.retryable, error.fatal) == ("model", True, False)
            assert "local-worker.log" in str(error)
        assert [one.ids for one in await sampled(model)] == [one.ids for one in before]
        assert worker_pid() != first

    use(work, {"path": str(policy)}, tmp_path)


def test_a_killed_worker_costs_no_episode_that_is_tried_again(policy: Path, tmp_path: Path) -> None:
    async def work(model: LocalModel) -> list[Generation]:
        async def one(seed: int) -> Generation:
            for _ in range(3):
                try:
                    return await model.generate([20, 21, 22], params(seed, 64), str(seed))
                except EpisodeError as error:
                    assert error.retryable, error
            raise AssertionError("three tries were not enough")

        await model.start()
        waiting = [asyncio.ensure_future(one(seed)) for seed in range(64)]
        await asyncio.sleep(0.05)
        os.kill(worker_pid(), signal.SIGKILL)
        return await asyncio.gather(*waiting)

    found = use(work, {"path": str(policy)}, tmp_path)
    assert len(found) == 64 and all(generation.ids for generation in found)


def test_weights_that_do_not_fit_are_refused(policy: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    shutil.copytree(policy, wrong)
    config = json.loads((wrong / "config.json").read_text())
    config["num_hidden_layers"] += 1
    (wrong / "config.json").write_text(json.dumps(config))
    with pytest.raises(MachineError, match="the weights do not fit LlamaForCausalLM: 9 are missing"):
        use(lambda model: model.start(), {"path": str(wrong)}, tmp_path / "run")


def test_a_killed_parent_leaves_no_worker(policy: Path, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        f"""
import asyncio, sys
from pathlib import Path
from aworld_cli.model import ModelContext, SamplingParams
from aworld_local.model import LocalConfig, local

async def main():
    model = local(LocalConfig(path={str(policy)!r}), ModelContext(run_dir=Path({str(tmp_path)!r}), seed=0))
    await model.start()
    heavy = [name for name in ("torch", "transformers", "numpy") if name in sys.modules]
    print(model.worker._process.pid, *heavy, flush=True)
    while True:
        calls = (model.generate([9], SamplingParams(1.0, 1.0, {LONG}, n), "r") for n in range(64))
        await asyncio.gather(*calls)

asyncio.run(main())
"""
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        words = parent.stdout.readline().split()
    assert len(words) == 1, f"the parent imported {words[1:]}"
    worker = psutil.Process(int(words[0]))
    time.sleep(0.2)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the worker outlives its parent"
        time.sleep(0.05)


def test_a_policy_is_made_once_in_a_run(tmp_path: Path) -> None:
    config = {"create": {"hidden": 32, "layers": 1, "heads": 2}}
    corpus = arithmetic(ArithmeticConfig()).corpus

    async def make(model: LocalModel) -> Path:
        await model.start()
        assert model.codec.path == await model.ensure_checkpoint()
        assert len(await sampled(model)) == len(PROMPTS)
        return model.codec.path

    async def resume(model: LocalModel) -> Path:
        path = await model.ensure_checkpoint()
        assert not model.worker.alive, "what is there needs no worker"
        return path

    made = use(make, config, tmp_path, corpus=corpus)
    assert made.is_relative_to(tmp_path / "checkpoints")
    before = (made / "model.safetensors").stat()
    assert use(resume, config, tmp_path, corpus=corpus) == made
    assert (made / "model.safetensors").stat() == before


def test_an_earlier_stage_s_checkpoint_takes_the_place_of_the_model_s(policy: Path, tmp_path: Path) -> None:
    config = {"path": str(tmp_path / "nowhere")}
    assert use(lambda model: model.ensure_checkpoint(), config, tmp_path, checkpoint=policy) == policy


@pytest.mark.parametrize(
    ("path", "remedy"), [("nowhere/at/all", "no Hugging Face model there"), ("smollm2", "aworld models fetch smollm2")]
)
def test_a_missing_checkpoint_says_what_to_do(
    path: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWORLD_CACHE_DIR", str(tmp_path / "cache"))
    with pytest.raises(MachineError, match=remedy):
        use(lambda model: model.start(), {"path": path}, tmp_path)


def test_weights_that_cannot_be_read_say_where_to_look(policy: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in policy.iterdir():
        (broken / file.name).write_bytes(file.read_bytes())
    (broken / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(MachineError, match=r"cannot be loaded: .*local-worker\.log"):
        use(lambda model: model.start(), {"path": str(broken)}, tmp_path)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"path": "x", "create": {}},
        {"path": "x", "thread": 1},
        {"create": {"hidden": 10, "heads": 3}},
        {"path": "x", "threads": 0},
    ],
)
def test_options_that_make_no_sense_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LocalConfig.model_validate(config)
