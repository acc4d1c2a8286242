"""Sampling: what is drawn depends on the seed and the position, and has the distribution that it should have."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aworld_local.sampling import sample, uniforms

RECORDED = [0.6524484863740322, 0.7012121095215252, 0.36818951565166946, 0.6572466933996467]
seeds = st.integers(0, 2**64 - 1)


def draw(
    logits: torch.Tensor, uniform: torch.Tensor, *, temperature: float = 1.0, top_p: float = 1.0, top_k: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    rows = logits.shape[0]
    return sample(
        logits,
        temperature=torch.full((rows,), temperature),
        top_p=torch.full((rows,), top_p, dtype=torch.float64),
        top_k=torch.full((rows,), top_k),
        uniform=uniform,
    )


@given(st.lists(st.tuples(seeds, st.integers(0, 2**31)), min_size=1, max_size=20))
def test_a_row_s_number_does_not_depend_on_its_company(rows: list[tuple[int, int]]) -> None:
    together = uniforms([seed for seed, _ in rows], [position for _, position in rows])
    alone = [float(uniforms([seed], [position])[0]) for seed, position in rows]
    assert together.tolist() == alone
    assert all(0 <= number < 1 for number in alone)


def test_the_numbers_are_those_of_the_first_release() -> None:
    """Recorded runs repeat only as long as these stay what they are."""
    assert uniforms([0, 0, 1, 2**63 - 1], [0, 1, 0, 7]).tolist() == pytest.approx(RECORDED, abs=0)


@pytest.mark.parametrize("vary", ["seed", "position"])
def test_the_numbers_are_uniform_and_unrelated(vary: str) -> None:
    counter = list(range(20_000))
    fixed = [7] * len(counter)
    numbers = (uniforms(counter, fixed) if vary == "seed" else uniforms(fixed, counter)).numpy()
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    chi_squared = float(((counts - 1_000.0) ** 2 / 1_000.0).sum())
    assert chi_squared < 50  # 19 degrees of freedom: p < 1e-4 beyond
    assert abs(float(np.corrcoef(numbers[1:], numbers[:-1])[0, 1])) < 0.03


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_have_the_model_s_probabilities(temperature: float) -> None:
    row = torch.tensor([2.0, 0.0, 1.0, -1.0, 1.5])
    expected = torch.softmax(row.double() / temperature, -1)
    uniform = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    ids, logprobs = draw(row.expand(10_000, -1), uniform, temperature=temperature)
    assert torch.bincount(ids, minlength=5).double().div(10_000).allclose(expected, atol=1e-3)
    assert logprobs.double().allclose(expected.log()[ids], atol=1e-5)


def test_cuts_leave_the_likeliest_and_the_recorded_probabilities_whole() -> None:
    probabilities = torch.tensor([0.1, 0.4, 0.3, 0.2])
    logits = probabilities.log().expand(1_000, -1)
    uniform = torch.arange(1_000, dtype=torch.float64) / 1_000
    for options, kept in (
        ({"top_p": 0.5}, {1, 2}),
        ({"top_p": 0.01}, {1}),
        ({"top_k": 3}, {1, 2, 3}),
        ({"top_k": 2, "top_p": 0.95}, {1, 2}),
        ({"top_k": 9}, {0, 1, 2, 3}),
    ):
        ids, logprobs = draw(logits, uniform, **options)
        assert set(ids.tolist()) == kept
        assert logprobs.allclose(probabilities.log()[ids], atol=1e-6)


def test_temperature_zero_takes_the_likeliest_beside_rows_that_sample() -> None:
    logits = torch.tensor([[0.0, 3.0, 1.0]]).expand(2, -1)
    ids, logprobs = sample(
        logits,
        temperature=torch.tensor([0.0, 1.0]),
        top_p=torch.ones(2, dtype=torch.float64),
        top_k=torch.zeros(2, dtype=torch.long),
        uniform=torch.tensor([0.0, 0.0], dtype=torch.float64),
    )
    assert ids.tolist() == [1, 0]
    assert logprobs.allclose(torch.log_softmax(logits[0], -1)[ids])


def test_a_temperature_next_to_zero_is_no_division_by_zero() -> None:
    ids, logprobs = draw(torch.tensor([[1.0, 2.0]]), torch.tensor([0.5], dtype=torch.float64), temperature=1e-40)
    assert ids.tolist() == [1] and torch.isfinite(logprobs).all()
