"""Small checkpoints that hold a tokenizer and a chat template, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aworld_cli.model.codec import Codec

MakeCodec = Callable[..., Codec]
TEMPLATES = Path(__file__).parent / "templates"
#: Text whose pairs of bytes become tokens, among them some that join a template's text with a message's.
CORPUS = ["user\nHello there, what is 347+581?", "assistant\nHello, it is 928.", "system\nYou are", "\nHello"] * 4
CONTROL = (
    ("<|im_end|>", "<|im_start|>", "<|endoftext|>"),
    ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    ("<s>", "</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    ("<|end|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|tools|>"),
)
NAMED = {"llama3.1": ("<|begin_of_text|>", "<|eot_id|>"), "mistral": ("<s>", "</s>"), "tiny": (None, "<|end|>")}


def write_checkpoint(path: Path, template: str, *, family: str, merges: bool = False, **files: Any) -> Path:
    """Write a byte-level tokenizer, with merges where asked for; `files` are the JSON files to put beside it."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320 if merges else 256,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for group in CONTROL for token in group])
    tokenizer.add_tokens([AddedToken(tag, normalized=False) for tag in ("<tool_call>", "</tool_call>", "<think>")])
    path.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path / "tokenizer.json"))
    bos, eos = NAMED.get(family, (None, "<|im_end|>"))
    settings = {"eos_token": eos, "chat_template": template, **({"bos_token": bos} if bos else {})}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return path


@pytest.fixture(scope="session")
def make_codec(tmp_path_factory: pytest.TempPathFactory) -> MakeCodec:
    """Make a codec with one of the templates beside this file, or with the text of another."""

    def make(family: str, template: str | None = None, **options: Any) -> Codec:
        source = (TEMPLATES / f"{family}.jinja").read_text() if template is None else template
        return Codec(write_checkpoint(tmp_path_factory.mktemp(family), source, family=family, **options))

    return make
