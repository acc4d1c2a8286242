"""What a run leaves: verl's own checkpoint folders, to resume from, and a Hugging Face directory.

The directory is made from the weights as they were last handed to the sampler: the trained
precision, bit for bit. (verl's own `hf_model` export casts everything to bfloat16.)
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from aworld_verl.settings import TrainSettings

_WEIGHTS = (".safetensors", ".bin", ".pt", ".gguf", ".index.json")


def export(settings: TrainSettings, weights_dir: Path) -> Path:
    """Put the weights of the last step at `settings.export_dir`, with the start model's other files.

    The directory appears complete or not at all. Raises FileNotFoundError if the step's weights
    were not handed over.
    """
    from safetensors.torch import save_file

    from aworld_verl.cpu.weights import fetch

    tensors, _ = fetch(weights_dir, settings.steps)
    target = settings.export_dir
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    for file in Path(settings.model_path).iterdir():
        if file.is_file() and not file.name.endswith(_WEIGHTS):
            shutil.copy2(file, partial / file.name)
    save_file(tensors, partial / "model.safetensors", metadata={"format": "pt"})
    _set_dtype(partial / "config.json", next(iter(tensors.values())).dtype)
    shutil.rmtree(target, ignore_errors=True)
    partial.replace(target)
    return target


def _set_dtype(path: Path, dtype: Any) -> None:
    """Say the precision that the weights have now; the start model may have been stored in another."""
    config = json.loads(path.read_text())
    config.pop("torch_dtype", None)
    config["dtype"] = str(dtype).removeprefix("torch.")
    path.write_text(json.dumps(config, indent=2) + "\n")
