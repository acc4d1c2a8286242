"""Sequences of different lengths side by side in the rows of a batch, so that little padding is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

#: (ids, mask) of equal length; a token is learned where its mask is 1. The first token is never predicted.
Example = tuple[list[int], list[int]]
IGNORED = -100


@dataclass(frozen=True, slots=True)
class Packed:
    """A batch.

    Shapes: `ids`, `positions` and `targets` (rows, width); `mask` (rows, 1, width, width), True where a token sees
    another one: itself or an earlier one of the same sequence. `targets` holds the token that comes next, or IGNORED.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor
    mask: torch.Tensor


def pack(examples: Sequence[Example]) -> Packed:
    """Lay the sequences out. Rows are as wide as the longest sequence, or an eighth wider where that saves tokens."""
    lengths = sorted((len(ids) for ids, _ in examples), reverse=True)
    widths = (lengths[0], lengths[0] + lengths[0] // 8)
    width = min(widths, key=lambda width: width * len(_fit(lengths, width)))
    longest_first = sorted(examples, key=lambda example: len(example[0]), reverse=True)
    ids, positions, targets, owners = [], [], [], []
    for members in _fit(lengths, width):
        row = [longest_first[index] for index in members]
        free = width - sum(len(tokens) for tokens, _ in row)
        ids.append([token for tokens, _ in row for token in tokens] + [0] * free)
        positions.append([at for tokens, _ in row for at in range(len(tokens))] + [0] * free)
        targets.append([target for example in row for target in _targets(example)] + [IGNORED] * free)
        own = [number for number, (tokens, _) in enumerate(row) for _ in tokens]
        # Each padding token is a sequence of its own: a softmax over nothing would be NaN.
        owners.append(own + list(range(len(row), len(row) + free)))
    owner = torch.tensor(owners)
    mask = (owner[:, :, None] == owner[:, None, :]).tril_()
    return Packed(torch.tensor(ids), torch.tensor(positions), torch.tensor(targets), mask[:, None])


def _fit(lengths: Sequence[int], width: int) -> list[list[int]]:
    """Return which lengths (by index, longest first) share a row: first-fit decreasing."""
    rows: list[list[int]] = []
    room: list[int] = []
    for index, length in enumerate(lengths):
        at = next((row for row, free in enumerate(room) if free >= length), len(rows))
        if at == len(rows):
            rows.append([])
            room.append(width)
        rows[at].append(index)
        room[at] -= length
    return rows


def _targets(example: Example) -> list[int]:
    following = zip(example[0][1:], example[1][1:], strict=True)
    return [token if learned else IGNORED for token, learned in following] + [IGNORED]
