"""Inference with continuous batching over any Hugging Face causal language model, on a CPU.

Requests that arrive while others run are prefilled together and join the running batch; finished ones leave it. What
a request samples depends on its prompt and seed alone (`sampling`), but for the last digits of sums, which can differ
with the batch's shape.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from aworld_local.batch import Batch, Row
from aworld_local.checkpoint import load_model, read_context, read_end_ids
from aworld_local.sampling import sample, uniforms

logger = logging.getLogger(__name__)
_PREFILL_TOKENS = 16_384
# Finished rows stay in the batch, unread, until this share or less is alive: copying the cache costs more than they do.
_REBUILD = 0.8


class PromptTooLong(ValueError):
    """A prompt does not fit the model's context."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Sampled ids (the end token included), the natural logarithm of each one's probability, and why it ended."""

    ids: list[int]
    logprobs: list[float]
    stop_reason: Literal["stop", "length", "abort"]


Callback = Callable[[Generation | Exception], None]


class Engine:
    """Generates for many requests at once, in one background thread.

    Args:
        model_path: a Hugging Face directory.
        threads: CPU threads of PyTorch, for the whole process.
        max_batch: most requests at a time; further ones wait.
    """

    def __init__(self, model_path: str, *, threads: int = 1, max_batch: int = 256) -> None:
        torch.set_num_threads(threads)
        self.model_path = model_path
        self.max_batch = max_batch
        self.model = load_model(model_path).eval()
        self.end_ids = read_end_ids(Path(model_path))
        self.context = read_context(self.model.config)
        self._waiting: queue.SimpleQueue[Row | None] = queue.SimpleQueue()
        self._stepping = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    # -- requests -----------------------------------------------------------------------------------------------

    async def generate(
        self,
        prompt_ids: Sequence[int],
        *,
        max_tokens: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int,
        stop_ids: Sequence[int] = (),
    ) -> Generation:
        """Continue `prompt_ids` by at most `max_tokens` tokens; the model's end tokens and `stop_ids` end it.

        Args:
            temperature: 0 takes the likeliest token.
            top_p, top_k: what of the distribution is kept; 1 and 0 keep all of it.
            seed: decides, with the position, what is drawn.

        Returns:
            The ids, and the natural logarithm of each one's probability at `temperature` (at 1 when that is 0) over
            the whole vocabulary, before `top_p` and `top_k`. The model's context ends a reply as `length`, closing
            the engine as `abort`.

        A caller that is cancelled leaves the batch before the next step.

        Raises:
            ValueError: the prompt is empty.
            PromptTooLong: it leaves no room in the model's context.
            RuntimeError: the engine is closed.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Generation] = loop.create_future()

        def done(result: Generation | Exception) -> None:
            with contextlib.suppress(RuntimeError):  # the caller's event loop is gone
                loop.call_soon_threadsafe(_settle, future, result)

        row = self.submit(
            prompt_ids,
            done,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            seed=seed,
            stop_ids=stop_ids,
        )
        try:
            return await future
        except asyncio.CancelledError:
            row.done = True
            raise

    def submit(
        self,
        prompt_ids: Sequence[int],
        done: Callback,
        *,
        max_tokens: int,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int,
        stop_ids: Sequence[int] = (),
    ) -> Row:
        """Like `generate`, for callers without an event loop: `done` is called in the engine's thread.

        Setting `done` of the row that is returned takes the request back.
        """
        if not prompt_ids or max_tokens < 1:
            raise ValueError("a request needs at least one prompt token and room for one more")
        if len(prompt_ids) >= self.context:
            raise PromptTooLong(f"the prompt has {len(prompt_ids)} tokens, the model takes {self.context}")
        if self._closed:
            raise RuntimeError("the engine is closed")
        row = Row(
            request=done,
            prompt=list(prompt_ids),
            seed=seed % 2**64,
            temperature=temperature,
            top_p=top_p,
            top_k=top_k,
            max_tokens=min(max_tokens, self.context - len(prompt_ids)),
            stop_ids=self.end_ids | frozenset(stop_ids),
        )
        self._waiting.put(row)
        return row

    def load_weights(self, named_tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Copy weights into the model, between two steps; requests in flight go on with the new ones.

        Raises:
            KeyError: a name is not the model's.
            ValueError: a shape differs.
        """
        own = self.model.state_dict()  # the tensors themselves, tied ones under each of their names
        with self._stepping, torch.no_grad():
            for name, tensor in named_tensors:
                if own[name].shape != tensor.shape:
                    raise ValueError(f"{name}: shape {tuple(tensor.shape)}, not {tuple(own[name].shape)}")
                own[name].copy_(tensor)

    def load_checkpoint(self, path: str) -> None:
        """Copy the weights of a checkpoint of the same architecture into the model."""
        from safetensors.torch import load_file

        for file in sorted(Path(path).glob("*.safetensors")):
            self.load_weights(load_file(file).items())
        self.model_path = path

    async def close(self) -> None:
        """Abort what is in flight and end the thread."""
        self.stop()
        await asyncio.to_thread(self._thread.join, 30)

    def stop(self) -> None:
        """Like `close`, without waiting."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)

    # -- the thread ---------------------------------------------------------------------------------------------

    def _run(self) -> None:
        batch: Batch | None = None
        with torch.inference_mode():
            while True:
                new = self._take(batch)
                if self._closed:
                    self._abort([*(batch.rows if batch else []), *new])
                    return
                try:
                    with self._stepping:
                        batch = self._advance(batch, new)
                except Exception as error:
                    logger.exception("the engine failed")
                    for row in {id(row): row for row in [*(batch.rows if batch else []), *new]}.values():
                        if not row.done:
                            row.done = True
                            row.request(error)
                    batch = None

    def _take(self, batch: Batch | None) -> list[Row]:
        """Return waiting requests that fit; waits for one when nothing runs."""
        room = self.max_batch - (len(batch.rows) if batch else 0)
        new: list[Row] = []
        tokens = 0
        while len(new) < room and tokens < _PREFILL_TOKENS:
            try:
                row = self._waiting.get(block=batch is None and not new)
            except queue.Empty:
                break
            if row is None:
                break
            if row.done:
                continue
            new.append(row)
            tokens += len(row.prompt)
        return new

    def _advance(self, batch: Batch | None, new: list[Row]) -> Batch | None:
        if batch is not None:
            self._sample(batch, batch.step())
            batch = self._let_go(batch)
        if new:
            joining, logits = Batch.prefill(self.model, new)
            self._sample(joining, logits)
            fresh = self._let_go(joining)
            if batch is not None and fresh is not None:
                batch.merge(fresh)
            else:
                batch = batch or fresh
        return batch

    @staticmethod
    def _sample(batch: Batch, logits: torch.Tensor) -> None:
        rows = batch.rows
        ids, logprobs = sample(
            logits,
            temperature=torch.tensor([row.temperature for row in rows]),
            top_p=torch.tensor([row.top_p for row in rows], dtype=torch.float64),
            top_k=torch.tensor([row.top_k for row in rows]),
            uniform=uniforms([row.seed for row in rows], [len(row.ids) for row in rows]),
        )
        for row, token, logprob in zip(rows, ids.tolist(), logprobs.tolist(), strict=True):
            if not row.done:
                row.ids.append(token)
                row.logprobs.append(logprob)

    @staticmethod
    def _let_go(batch: Batch) -> Batch | None:
        stay: list[int] = []
        for index, row in enumerate(batch.rows):
            if row.done:
                continue
            if row.ids[-1] in row.stop_ids:
                row.done = True
                row.request(Generation(row.ids, row.logprobs, "stop"))
            elif len(row.ids) >= row.max_tokens:
                row.done = True
                row.request(Generation(row.ids, row.logprobs, "length"))
            else:
                stay.append(index)
        if not stay:
            return None
        if len(stay) <= _REBUILD * len(batch.rows):
            batch.keep(stay)
        return batch

    def _abort(self, rows: list[Row]) -> None:
        while True:
            try:
                row = self._waiting.get_nowait()
            except queue.Empty:
                break
            if row is not None:
                rows.append(row)
        for row in rows:
            if not row.done:
                row.request(Generation(row.ids, row.logprobs, "abort"))


def _settle(future: asyncio.Future[Generation], result: Generation | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
