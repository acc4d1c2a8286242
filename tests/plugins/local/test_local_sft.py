"""Fine-tuning: the loss is that of the masked tokens, and of nothing else."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from aworld_local.packing import IGNORED, Example, pack
from aworld_local.sft import SftSettings, batch_indices, batch_loss, fine_tune, learning_rate

SETTINGS = SftSettings(
    steps=30, batch=8, lr=1e-2, final_lr=0.0, warmup=5, weight_decay=0.0, beta2=0.98, grad_clip=1.0, threads=1, seed=0
)
tokens = st.integers(7, 299)
examples_of = st.lists(
    st.lists(st.tuples(tokens, st.integers(0, 1)), min_size=2, max_size=24).map(
        lambda pairs: ([token for token, _ in pairs], [mask for _, mask in pairs])
    ),
    min_size=1,
    max_size=12,
).filter(lambda examples: any(any(mask[1:]) for _, mask in examples))


@pytest.fixture(scope="module")
def model(policy: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(policy, dtype=torch.float32)


def demos(count: int) -> list[Example]:
    source = random.Random(0)
    made: list[Example] = []
    for _ in range(count):
        digits = [source.randrange(20, 30) for _ in range(4)]
        made.append(([3, *digits, 1, 4, *digits, 1], [0] * 7 + [1] * 5))
    return made


def _loss(model: Any) -> float:
    with torch.no_grad():
        return float(batch_loss(model, demos(32))[0])


@settings(max_examples=50, deadline=None)
@given(examples=examples_of)
def test_packing_keeps_every_token_once(examples: list[Example]) -> None:
    packed = pack(examples)
    found: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for row in range(packed.ids.shape[0]):
        starts = [at for at, position in enumerate(packed.positions[row].tolist()) if position == 0]
        for start, end in zip(starts, [*starts[1:], packed.ids.shape[1]], strict=True):
            found[tuple(packed.ids[row, start:end].tolist()), tuple(packed.targets[row, start:end].tolist())] += 1
    for ids, mask in examples:
        following = zip(ids[1:], mask[1:], strict=True)
        targets = tuple(token if learned else IGNORED for token, learned in following)
        assert found[tuple(ids), (*targets, IGNORED)] > 0
        found[tuple(ids), (*targets, IGNORED)] -= 1
    assert all(ids == (0,) for (ids, _), count in found.items() if count), "what is left is padding"


@settings(max_examples=25, deadline=None)
@given(examples=examples_of)
def test_the_loss_is_that_of_each_sequence_alone(model: Any, examples: list[Example]) -> None:
    with torch.no_grad():
        loss, count = batch_loss(model, examples)
        total, learned = 0.0, 0
        for ids, mask in examples:
            logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0, :-1], -1)
            chosen = -logprobs.gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]
            total += float((chosen * torch.tensor(mask[1:])).sum())
            learned += sum(mask[1:])
    assert count == learned
    assert float(loss) == pytest.approx(total / learned, abs=1e-4)


def test_only_masked_positions_carry_gradient(model: Any) -> None:
    examples = [([9, 10, 11, 12, 13], [0, 0, 1, 0, 1]), ([14, 15, 16], [1, 1, 0])]
    seen: list[torch.Tensor] = []

    def look(module: Any, inputs: Any, output: torch.Tensor) -> None:
        output.retain_grad()
        seen.append(output)

    hook = model.get_output_embeddings().register_forward_hook(look)
    try:
        loss, count = batch_loss(model, examples)
        loss.backward()
    finally:
        hook.remove()
        model.zero_grad()
    (logits,) = seen
    assert count == 3 and logits.grad is not None
    targets = sorted(int(row.argmin()) for row in logits.grad)  # the one token of a row whose gradient is negative
    assert targets == [11, 13, 15]


def test_a_head_that_bends_its_logits_is_used_whole(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _loss(model)
    monkeypatch.setattr(model.config, "final_logit_softcapping", 30.0, raising=False)
    called: list[int] = []
    hook = model.register_forward_hook(lambda *_: called.append(1))
    try:
        assert _loss(model) == pytest.approx(whole, abs=1e-5)
    finally:
        hook.remove()
    assert called


def test_training_lowers_the_loss_and_leaves_a_checkpoint(policy: Path, tmp_path: Path) -> None:
    said: list[tuple[int, float]] = []
    output = tmp_path / "out"
    metrics = fine_tune(policy, output, demos(32), SETTINGS, lambda step, loss: said.append((step, loss)))
    assert [step for step, _ in said] == list(range(1, 31))
    assert metrics["loss"] < said[0][1] / 2
    assert metrics["tokens"] == 30 * 8 * 5
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert {path.name for path in output.iterdir()} == {path.name for path in policy.iterdir()}
    assert (output / "tokenizer.json").read_bytes() == (policy / "tokenizer.json").read_bytes()
    assert AutoTokenizer.from_pretrained(output).chat_template == AutoTokenizer.from_pretrained(policy).chat_template
    trained = AutoModelForCausalLM.from_pretrained(output)
    assert _loss(trained) < said[0][1] / 2
    again = tmp_path / "again"
    fine_tune(policy, again, demos(32), SETTINGS, lambda step, loss: None)
    assert (again / "model.safetensors").read_bytes() == (output / "model.safetensors").read_bytes()


def test_a_trajectory_that_does_not_fit_is_refused(policy: Path, tmp_path: Path) -> None:
    long = ([9] * 5_000, [1] * 5_000)
    with pytest.raises(ValueError, match="5000 tokens"):
        fine_tune(policy, tmp_path / "out", [long], SETTINGS, lambda step, loss: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("count", "size"), [(10, 3), (3, 10), (1, 1), (8, 8)])
def test_every_epoch_shows_every_sequence_once(count: int, size: int) -> None:
    batches = batch_indices(count, size, seed=0)
    seen = [index for _ in range(count) for index in next(batches)]
    for epoch in range(size):
        assert sorted(seen[epoch * count : (epoch + 1) * count]) == list(range(count))
    again = batch_indices(count, size, seed=0)
    assert [index for _ in range(count) for index in next(again)] == seen


def test_the_learning_rate_rises_and_falls() -> None:
    rates = [learning_rate(step, SETTINGS) for step in range(SETTINGS.steps + 1)]
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert rates[5] == pytest.approx(1.0) and rates[-1] == pytest.approx(0.0)
    assert rates[5:] == sorted(rates[5:], reverse=True)
