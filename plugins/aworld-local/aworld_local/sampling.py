"""Sampling that is a pure function of (seed, position): who shares a batch, and in which order, never matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def uniforms(seeds: Sequence[int], positions: Sequence[int]) -> torch.Tensor:
    """Return one number in [0, 1) a row, shape (rows,), float64: SplitMix64 of the seed and the position.

    Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators"; 53 bits of its output are used.
    """
    with np.errstate(over="ignore"):
        state = np.asarray(seeds, dtype=np.uint64)
        state = _mix(state + _INCREMENT) + _INCREMENT * (np.asarray(positions, dtype=np.uint64) + np.uint64(1))
        bits = _mix(state) >> np.uint64(11)
    return torch.from_numpy(bits.astype(np.float64) * 2.0**-53)


def _mix(x: Any) -> Any:
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))


def sample(
    logits: torch.Tensor,
    *,
    temperature: torch.Tensor,
    top_p: torch.Tensor,
    top_k: torch.Tensor,
    uniform: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw one token a row by inverting the distribution's cumulative sum.

    Args:
        logits: (rows, vocabulary).
        temperature: (rows,); 0 takes the likeliest token.
        top_p, top_k: (rows,); 1 and 0 keep the whole vocabulary.
        uniform: (rows,) in [0, 1).

    Returns:
        The ids and the natural logarithms of their probabilities at the row's temperature (at 1 for a row at 0), over
        the whole vocabulary, before `top_p` and `top_k` cut it; both of shape (rows,).
    """
    greedy = temperature == 0
    scale = torch.where(greedy, torch.ones_like(temperature), temperature.clamp(min=1e-6))
    logprobs = torch.log_softmax(logits.float() / scale[:, None], dim=-1)
    weights = logprobs.double().exp()
    if bool((top_p < 1).any()) or bool((top_k > 0).any()):
        weights = _cut(weights, top_p, top_k)
    cumulative = weights.cumsum(dim=-1)
    target = uniform[:, None] * cumulative[:, -1:]
    ids = torch.searchsorted(cumulative, target, right=True).squeeze(-1).clamp_(max=logits.shape[-1] - 1)
    if bool(greedy.any()):
        ids = torch.where(greedy, logits.argmax(dim=-1), ids)
    return ids, logprobs.gather(-1, ids[:, None]).squeeze(-1)


def _cut(weights: torch.Tensor, top_p: torch.Tensor, top_k: torch.Tensor) -> torch.Tensor:
    ordered, order = weights.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    rank = torch.arange(weights.shape[-1], device=weights.device)[None, :]
    limit = torch.where(top_k > 0, top_k, torch.full_like(top_k, weights.shape[-1]))
    keep = ((before < top_p[:, None]) & (rank < limit[:, None])) | (rank == 0)
    return torch.zeros_like(weights).scatter_(-1, order, ordered * keep)
