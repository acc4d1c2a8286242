"""Supervised fine-tuning on recorded tokens: next-token cross-entropy where the loss mask is 1, nowhere else."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from aworld_local.checkpoint import load_model, read_context
from aworld_local.packing import IGNORED, Example, pack

_LOADER_FILES = ("*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json")


@dataclass(frozen=True, slots=True)
class SftSettings:
    """How to train; `warmup` in steps, `batch` in sequences, `seed` decides their order."""

    steps: int
    batch: int
    lr: float
    final_lr: float
    warmup: int
    weight_decay: float
    beta2: float
    grad_clip: float
    threads: int
    seed: int


def fine_tune(
    model_path: Path,
    output: Path,
    examples: Sequence[Example],
    settings: SftSettings,
    report: Callable[[int, float], None],
) -> dict[str, float]:
    """Train a copy of the model and write it, with its tokenizer, to `output`, whole or not at all.

    Args:
        examples: (ids, mask) of equal length; a token counts in the loss where its mask is 1. The first token is
            never predicted.
        report: called with the step and its mean loss in nats a token.

    Returns:
        The mean loss of the last tenth of the steps, tokens trained on, and seconds.
    """
    torch.set_num_threads(settings.threads)
    model = load_model(model_path).train()
    longest, context = max(len(ids) for ids, _ in examples), read_context(model.config)
    if longest > context:
        raise ValueError(f"a trajectory has {longest} tokens, the model takes {context}")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.lr, betas=(0.9, settings.beta2), weight_decay=settings.weight_decay, fused=True
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: learning_rate(step, settings))
    started, losses, tokens = time.monotonic(), [], 0
    batches = batch_indices(len(examples), settings.batch, settings.seed)
    for step in range(1, settings.steps + 1):
        chosen = [examples[index] for index in next(batches)]
        loss, count = batch_loss(model, chosen)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.grad_clip)
        optimizer.step()
        schedule.step()
        tokens += count
        losses.append(float(loss.detach()))
        report(step, losses[-1])
    _save(model, model_path, output)
    tail = losses[-max(1, settings.steps // 10) :]
    return {"loss": sum(tail) / len(tail), "tokens": float(tokens), "train_seconds": time.monotonic() - started}


def batch_loss(model: Any, examples: Sequence[Example]) -> tuple[torch.Tensor, int]:
    """Return the mean cross-entropy in nats over the batch's masked tokens, and how many they are."""
    packed = pack(examples)
    learned = packed.targets != IGNORED
    wanted = packed.targets[learned]
    inputs = {"input_ids": packed.ids, "attention_mask": packed.mask, "position_ids": packed.positions}
    if _bends_logits(model.config):
        logits = model(**inputs, use_cache=False).logits[learned]
    else:  # only the rows that count go through the head, the widest layer
        hidden = model.get_decoder()(**inputs, use_cache=False).last_hidden_state
        logits = model.get_output_embeddings()(hidden[learned])
    return torch.nn.functional.cross_entropy(logits.float(), wanted), len(wanted)


def _bends_logits(config: Any) -> bool:
    """Whether the model does more after its head (Gemma 2, Cohere, Granite)."""
    return any(getattr(config, key, None) for key in ("final_logit_softcapping", "logit_scale", "logits_scaling"))


def batch_indices(count: int, size: int, seed: int) -> Iterator[list[int]]:
    """Yield batches for ever; each epoch is a fresh permutation, and batches run across epochs."""
    generator = torch.Generator().manual_seed(seed)
    waiting: list[int] = []
    while True:
        while len(waiting) < size:
            waiting += torch.randperm(count, generator=generator).tolist()
        yield waiting[:size]
        waiting = waiting[size:]


def learning_rate(step: int, settings: SftSettings) -> float:
    """Return the factor on `lr`: a linear warm-up, then half a cosine down to `final_lr`."""
    if step < settings.warmup:
        return (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(1, settings.steps - settings.warmup)
    low = settings.final_lr / settings.lr
    return low + (1 - low) * 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


def _save(model: torch.nn.Module, source: Path, output: Path) -> None:
    partial = output.with_name(f".{output.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    weights = [file for pattern in _LOADER_FILES for file in source.glob(pattern)]
    shutil.copytree(source, partial, ignore=lambda _, names: [n for n in names if n in {w.name for w in weights}])
    model.save_pretrained(partial)
    shutil.rmtree(output, ignore_errors=True)
    os.replace(partial, output)  # noqa: PTH105
