"""The running batch: rows that generate together, aligned at their right end, over one key-value cache.

Column `length` of the cache is where every row writes its next token. A row's own tokens are the last ones; what lies
left of them is padding that its mask hides. Rows join by padding on the left, and leave by copying the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, CacheLayerMixin

_HEADROOM = 32


@dataclass(slots=True)
class Row:
    """One request in the batch; `request` is the engine's."""

    request: Any
    prompt: list[int]
    seed: int
    temperature: float
    top_p: float
    top_k: int
    max_tokens: int
    stop_ids: frozenset[int]
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    done: bool = False

    @property
    def tokens(self) -> int:
        """Tokens whose keys and values are in the cache once the last id has been fed."""
        return len(self.prompt) + len(self.ids)


class _Layer(CacheLayerMixin):  # type: ignore[misc]
    """Keys and values of one layer in a buffer with room to grow: (rows, heads, capacity, size)."""

    def __init__(self, owner: RowCache) -> None:
        super().__init__()
        self.owner = owner

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        rows, heads, _, size = key_states.shape
        self.keys = key_states.new_zeros(rows, heads, self.owner.capacity, size)
        self.values = value_states.new_zeros(rows, heads, self.owner.capacity, value_states.shape[-1])
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        assert self.keys is not None and self.values is not None
        start, end = self.owner.length, self.owner.length + key_states.shape[-2]
        self.keys[:, :, start:end] = key_states
        self.values[:, :, start:end] = value_states
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.owner.length + query_length, 0

    def get_seq_length(self) -> int:
        return self.owner.length

    def get_max_cache_shape(self) -> int:
        return -1


class RowCache:
    """The key-value cache of a set of rows; `length` columns are in use."""

    def __init__(self, layers: int, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.layers = [_Layer(self) for _ in range(layers)]
        self.cache = Cache(layers=list(self.layers))

    def copy_rows(self, source: RowCache, rows: torch.Tensor, at: int, width: int) -> None:
        """Copy the last `width` columns of some rows of another cache to rows `at`..., up to column `length`."""
        for mine, theirs in zip(self.layers, source.layers, strict=True):
            assert mine.keys is not None and mine.values is not None
            assert theirs.keys is not None and theirs.values is not None
            span = slice(source.length - width, source.length)
            into = slice(self.length - width, self.length)
            mine.keys[at : at + len(rows), :, into] = theirs.keys[rows, :, span]
            mine.values[at : at + len(rows), :, into] = theirs.values[rows, :, span]

    def allocate_like(self, source: RowCache, rows: int) -> None:
        """Make room for `rows` rows of the shape of another cache's."""
        for mine, theirs in zip(self.layers, source.layers, strict=True):
            assert theirs.keys is not None and theirs.values is not None
            _, heads, _, size = theirs.keys.shape
            mine.keys = theirs.keys.new_zeros(rows, heads, self.capacity, size)
            mine.values = theirs.values.new_zeros(rows, heads, self.capacity, theirs.values.shape[-1])
            mine.is_initialized = True


class Batch:
    """Rows in flight. `prefill` makes a batch of new rows, `merge` joins two, `step` gives each row one token."""

    def __init__(self, model: PreTrainedModel, rows: list[Row], cache: RowCache) -> None:
        self.model = model
        self.rows = rows
        self.cache = cache

    @classmethod
    def prefill(cls, model: PreTrainedModel, rows: list[Row]) -> tuple[Batch, torch.Tensor]:
        """Feed the rows' prompts together; return the batch and each row's next-token logits (rows, vocabulary)."""
        width = max(len(row.prompt) for row in rows)
        ids = torch.zeros(len(rows), width, dtype=torch.long)
        for index, row in enumerate(rows):
            ids[index, width - len(row.prompt) :] = torch.tensor(row.prompt)
        lengths = torch.tensor([len(row.prompt) for row in rows])
        real = torch.arange(width)[None, :] >= (width - lengths)[:, None]
        positions = (torch.arange(width)[None, :] - (width - lengths)[:, None]).clamp_(min=0)
        causal = torch.ones(width, width, dtype=torch.bool).tril_()
        # A padding position attends to itself: a row of a softmax that sees nothing would be NaN.
        mask = (causal & real[:, None, :]) | torch.eye(width, dtype=torch.bool)
        cache = RowCache(model.config.num_hidden_layers, width + _HEADROOM)
        logits = cls._forward(model, ids, mask[:, None], positions, cache)
        cache.length = width
        return cls(model, rows, cache), logits

    def step(self) -> torch.Tensor:
        """Feed each row's last id; return its next-token logits (rows, vocabulary)."""
        if self.cache.length == self.cache.capacity:
            self._rebuild([index for index, row in enumerate(self.rows) if not row.done])
        ids = torch.tensor([[row.ids[-1]] for row in self.rows])
        tokens = torch.tensor([row.tokens for row in self.rows])
        columns = torch.arange(self.cache.length + 1)
        mask = columns[None, :] >= (self.cache.length + 1 - tokens)[:, None]
        logits = self._forward(self.model, ids, mask[:, None, None], tokens[:, None] - 1, self.cache)
        self.cache.length += 1
        return logits

    def keep(self, indices: list[int]) -> None:
        """Let all rows but `indices` go."""
        self._rebuild(indices)

    def merge(self, other: Batch) -> None:
        """Take in another batch's rows; finished rows of both go."""
        parts = [(batch, [index for index, row in enumerate(batch.rows) if not row.done]) for batch in (self, other)]
        self._join(parts)

    def _rebuild(self, indices: list[int]) -> None:
        self._join([(self, indices)])

    def _join(self, parts: Sequence[tuple[Batch, list[int]]]) -> None:
        rows = [batch.rows[index] for batch, indices in parts for index in indices]
        # A row has fed all its tokens but the last sampled one.
        widths = [max(batch.rows[index].tokens - 1 for index in indices) for batch, indices in parts]
        cache = RowCache(len(self.cache.layers), max(widths) + _HEADROOM)
        cache.length = max(widths)
        cache.allocate_like(parts[0][0].cache, len(rows))
        at = 0
        for (batch, indices), width in zip(parts, widths, strict=True):
            cache.copy_rows(batch.cache, torch.tensor(indices), at, width)
            at += len(indices)
        self.rows, self.cache = rows, cache

    @staticmethod
    def _forward(
        model: PreTrainedModel,
        ids: torch.Tensor,
        mask: torch.Tensor,
        positions: torch.Tensor,
        cache: RowCache,
    ) -> torch.Tensor:
        made = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache.cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: torch.Tensor = made.logits[:, -1]
        return logits
