"""The engine: what it samples is what the model says, whoever shares the batch."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, MistralConfig

from aworld_local.checkpoint import read_context, read_end_ids
from aworld_local.engine import Engine, Generation

SOURCE = random.Random(0)
PROMPTS = [[SOURCE.randrange(7, 300) for _ in range(SOURCE.randrange(1, 30))] for _ in range(48)]


def use(path: Path | str, work: Callable[[Engine], Awaitable[Any]], **options: int) -> Any:
    """Open an engine, have `work` use it, and close it."""

    async def main() -> Any:
        engine = Engine(str(path), **options)
        try:
            return await work(engine)
        finally:
            await engine.close()

    return asyncio.run(asyncio.wait_for(main(), 60))


async def all_at_once(engine: Engine, **options: Any) -> list[Generation]:
    options = {"max_tokens": 12, **options}
    return list(await asyncio.gather(*(engine.generate(p, seed=n * 31, **options) for n, p in enumerate(PROMPTS))))


@pytest.fixture(scope="module")
def together(policy: Path) -> list[Generation]:
    made: list[Generation] = use(policy, all_at_once)
    return made


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose heads share keys and values, with tied embeddings, as real ones have."""
    path = tmp_path_factory.mktemp("grouped")
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=300,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=True,
        eos_token_id=[1, 2],
        initializer_range=0.2,
    )
    LlamaForCausalLM(config).save_pretrained(path)
    return path


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "engine"]


def logprobs_of(model: Any, prompt: list[int], ids: list[int], temperature: float) -> torch.Tensor:
    with torch.no_grad():
        logits = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1]
    return torch.log_softmax(logits / temperature, -1).gather(-1, torch.tensor(ids)[:, None])[:, 0]


@pytest.mark.parametrize("temperature", [0.7, 1.0])
@pytest.mark.parametrize("kind", ["policy", "grouped"])
def test_the_log_probabilities_are_the_model_s(kind: str, temperature: float, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    made = use(path, lambda engine: all_at_once(engine, temperature=temperature), max_batch=20)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    for prompt, one in zip(PROMPTS, made, strict=True):
        expected = logprobs_of(model, prompt, one.ids, temperature)
        assert torch.tensor(one.logprobs).allclose(expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["policy", "grouped"])
def test_greedy_ids_are_those_of_transformers(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    made = use(path, lambda engine: all_at_once(engine, temperature=0.0, max_tokens=30))
    model: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    for prompt, one in list(zip(PROMPTS, made, strict=True))[:8]:
        ids = torch.tensor([prompt])
        out = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=30, do_sample=False, pad_token_id=0
        )
        assert one.ids == out[0, len(prompt) :].tolist()


@pytest.mark.parametrize("max_batch", [1, 5])
def test_company_does_not_matter(policy: Path, together: list[Generation], max_batch: int) -> None:
    made = use(policy, all_at_once, max_batch=max_batch)
    assert [one.ids for one in made] == [one.ids for one in together]


def test_joining_in_mid_flight_does_not_matter(policy: Path, together: list[Generation]) -> None:
    async def staggered(engine: Engine) -> dict[int, Generation]:
        async def one(number: int) -> tuple[int, Generation]:
            await asyncio.sleep(0.002 * (number % 7))
            return number, await engine.generate(PROMPTS[number], max_tokens=12, seed=number * 31)

        order = list(range(len(PROMPTS)))
        random.Random(1).shuffle(order)
        return dict(await asyncio.gather(*map(one, order)))

    made = use(policy, staggered, max_batch=8)
    assert [made[number].ids for number in range(len(PROMPTS))] == [one.ids for one in together]


def test_seeds_and_prompts_matter(policy: Path) -> None:
    async def two(engine: Engine) -> list[Generation]:
        return list(await asyncio.gather(*(engine.generate(PROMPTS[0], max_tokens=12, seed=s) for s in (1, 2, 1))))

    first, other, again = use(policy, two)
    assert first.ids == again.ids != other.ids


def test_replies_end_where_they_should(policy: Path, grouped: Path) -> None:
    async def ends(engine: Engine) -> None:
        free = await engine.generate(PROMPTS[0], max_tokens=12, seed=3)
        assert (free.stop_reason, len(free.ids)) == ("length", 12)
        stop = free.ids[5]
        cut = await engine.generate(PROMPTS[0], max_tokens=12, seed=3, stop_ids=[stop])
        assert cut.stop_reason == "stop"
        assert cut.ids == free.ids[: free.ids.index(stop) + 1]
        assert cut.logprobs == pytest.approx(free.logprobs[: len(cut.ids)], abs=1e-5)

    use(policy, ends)

    async def context(engine: Engine) -> None:
        made = await engine.generate([5] * 60, max_tokens=100, seed=3)
        assert len(made.ids) <= 4
        for prompt, tokens in (([5] * 64, 1), ([], 1), ([5], 0)):
            with pytest.raises(ValueError, match="token"):
                await engine.generate(prompt, max_tokens=tokens, seed=3)

    use(grouped, context)
    assert read_end_ids(grouped) == {1, 2}


def test_a_long_reply_outgrows_the_first_cache(policy: Path) -> None:
    async def long(engine: Engine) -> Generation:
        asyncio.get_running_loop().call_later(0.01, asyncio.ensure_future, engine.generate([9], max_tokens=1, seed=0))
        return await engine.generate(PROMPTS[0], max_tokens=100, seed=5)

    made = use(policy, long)
    model = AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)
    assert torch.tensor(made.logprobs).allclose(logprobs_of(model, PROMPTS[0], made.ids, 1.0), atol=1e-4)


def test_a_caller_that_is_cancelled_leaves_the_batch(policy: Path) -> None:
    async def cancel(engine: Engine) -> None:
        endless = [asyncio.create_task(engine.generate(p, max_tokens=2_000, seed=1)) for p in PROMPTS[:4]]
        await asyncio.sleep(0.05)
        for task in endless:
            task.cancel()
        assert all(
            isinstance(e, asyncio.CancelledError) for e in await asyncio.gather(*endless, return_exceptions=True)
        )
        made = await engine.generate(PROMPTS[0], max_tokens=5, seed=1)
        assert len(made.ids) == 5

    use(policy, cancel, max_batch=4)


def test_closing_aborts_what_is_in_flight(policy: Path) -> None:
    async def main() -> Generation:
        engine = Engine(str(policy))
        task = asyncio.create_task(engine.generate(PROMPTS[0], max_tokens=2_000, seed=1))
        await asyncio.sleep(0.05)
        await engine.close()
        with pytest.raises(RuntimeError, match="closed"):
            await engine.generate(PROMPTS[0], max_tokens=1, seed=1)
        return await task

    made = asyncio.run(main())
    assert made.stop_reason == "abort" and len(made.ids) == len(made.logprobs)


@pytest.mark.parametrize("way", ["tensors", "checkpoint"])
def test_new_weights_take_the_place_of_the_old(grouped: Path, tmp_path: Path, way: str) -> None:
    model: Any = AutoModelForCausalLM.from_pretrained(grouped, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    model.save_pretrained(tmp_path / "new")

    async def reload(engine: Engine) -> tuple[list[Generation], list[Generation]]:
        before = await all_at_once(engine)
        if way == "tensors":
            engine.load_weights(model.state_dict().items())  # a tied head under its own name too
        else:
            engine.load_checkpoint(str(tmp_path / "new"))
        return before, await all_at_once(engine)

    before, after = use(grouped, reload)
    expected = use(tmp_path / "new", all_at_once)
    assert [one.ids for one in after] == [one.ids for one in expected] != [one.ids for one in before]


def test_weights_of_another_model_are_refused(policy: Path) -> None:
    async def refuse(engine: Engine) -> None:
        with pytest.raises(KeyError, match="nonsense"):
            engine.load_weights([("nonsense", torch.zeros(1))])
        with pytest.raises(ValueError, match="lm_head"):
            engine.load_weights([("lm_head.weight", torch.zeros(1, 1))])
        assert (await engine.generate([9], max_tokens=1, seed=0)).ids

    use(policy, refuse)


def test_a_failing_step_fails_its_requests_and_not_the_engine(policy: Path) -> None:
    async def fail(engine: Engine) -> None:
        with pytest.raises(IndexError):
            await engine.generate([10**6], max_tokens=1, seed=0)
        assert (await engine.generate([9], max_tokens=1, seed=0)).ids

    use(policy, fail)


def test_a_sliding_window_bounds_the_context() -> None:
    assert read_context(MistralConfig(sliding_window=128, max_position_embeddings=4096)) == 128
    assert read_context(MistralConfig(sliding_window=None, max_position_embeddings=4096)) == 4096
