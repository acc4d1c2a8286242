"""What a Hugging Face checkpoint says of itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel


def load_model(path: str | Path) -> PreTrainedModel:
    """Load a causal language model in float32.

    Raises:
        ValueError: the weights do not fit the configuration; they would be random where they are missing.
    """
    import torch
    from transformers import AutoModelForCausalLM

    model, found = AutoModelForCausalLM.from_pretrained(
        path, dtype=torch.float32, attn_implementation="sdpa", output_loading_info=True
    )
    missing, unknown = sorted(found["missing_keys"]), sorted(found["unexpected_keys"])
    if missing:
        raise ValueError(
            f"the weights do not fit {type(model).__name__}: {len(missing)} are missing ({missing[0]}, ...), "
            f"{len(unknown)} are not known"
        )
    loaded: PreTrainedModel = model
    return loaded


def read_end_ids(path: Path) -> frozenset[int]:
    """Return the tokens that end a reply, as the checkpoint's generation_config.json or config.json names them."""
    for name in ("generation_config.json", "config.json"):
        file = path / name
        if file.is_file():
            found = json.loads(file.read_text()).get("eos_token_id")
            if found is not None:
                return frozenset([found] if isinstance(found, int) else found)
    return frozenset()


def read_context(config: PretrainedConfig) -> int:
    """Return how many tokens a sequence may have; within a sliding window, attention is the plain causal one."""
    spans = [getattr(config, key, None) for key in ("max_position_embeddings", "sliding_window")]
    return min((int(span) for span in spans if span), default=1 << 20)
