"""What one training run needs to know: the JSON line that the parent sends to the driver."""

from __future__ import annotations

import dataclasses
import difflib
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class SettingsError(ValueError):
    """The settings cannot be used; the message is one line that names the key."""

    mend = "recipe"


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Settings of one verl run. Lengths are in tokens, `batch` and `mini_batch` in prompts.

    `tasks_file` is a JSON array of task ids. `source` is `module:attr`, called with
    `source_settings` (a dict) to make the `EpisodeSource`, in the driver process.
    `old_logprobs="rollout"` trains against the log-probabilities that the sampler recorded
    (verl's bypass mode: one forward pass a step less); it needs an exact sampler and
    temperature 1. `max_batch_tokens` bounds one forward pass; `packing` puts sequences end to end
    instead of padding them (slower here: attention then runs over the whole pack).
    `threads` is torch's number of threads in the trainer and in the sampler; on a shared
    machine more than one is slower by far, since each waits for the other at every operation.
    `overrides` are appended to the generated Hydra overrides.
    """

    model_path: str
    tasks_file: str
    out_dir: str
    source: str
    source_settings: dict[str, Any] = field(default_factory=dict)
    steps: int = 14
    batch: int = 16
    samples: int = 8
    mini_batch: int = 8
    lr: float = 3e-4
    weight_decay: float = 0.01
    clip: float = 0.2
    kl: float = 0.0
    entropy: float = 0.0
    grad_clip: float = 1.0
    prompt_length: int = 64
    response_length: int = 48
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    threads: int = 1
    save_every: int = 0
    keep_checkpoints: int = 2
    resume: str = "auto"
    on_error: str = "drop_group"
    shuffle_tasks: bool = True
    shuffle_rewards: bool = False
    old_logprobs: str = "rollout"
    max_batch_tokens: int = 4096
    packing: bool = False
    verify_weights: bool = True
    overrides: list[str] = field(default_factory=list)

    @property
    def checkpoint_dir(self) -> Path:
        """Where verl keeps `global_step_N` folders and `latest_checkpointed_iteration.txt`."""
        return Path(self.out_dir) / "verl"

    @property
    def export_dir(self) -> Path:
        """The ordinary Hugging Face directory left by a finished run."""
        return Path(self.out_dir) / "hf"


_CHOICES = {
    "resume": ("auto", "never"),
    "on_error": ("drop_group",),
    "old_logprobs": ("rollout", "recompute"),
}
_POSITIVE = (
    "steps", "batch", "samples", "mini_batch", "lr", "clip", "grad_clip",
    "prompt_length", "response_length", "temperature", "threads", "max_batch_tokens",
)  # fmt: skip
_NOT_NEGATIVE = ("weight_decay", "kl", "entropy", "save_every", "seed", "keep_checkpoints")


def parse_settings(data: Mapping[str, Any]) -> TrainSettings:
    """Check `data` strictly and build the settings; raises SettingsError naming the key."""
    fields = {f.name: f for f in dataclasses.fields(TrainSettings)}
    hints = typing.get_type_hints(TrainSettings)
    for name, value in data.items():
        if name not in fields:
            raise SettingsError(_unknown(name, fields))
        _check_type(name, value, hints[name])
    required = [n for n, f in fields.items() if _has_no_default(f)]
    missing = [n for n in required if n not in data]
    if missing:
        raise SettingsError(f"missing setting: {', '.join(missing)}")
    settings = TrainSettings(**data)
    _check_values(settings)
    return settings


def load_settings(path: str | Path) -> TrainSettings:
    """Read settings that `dump_settings` wrote."""
    return parse_settings(json.loads(Path(path).read_text()))


def dump_settings(settings: TrainSettings, path: str | Path) -> None:
    """Write the settings as JSON, for processes that only get a path."""
    Path(path).write_text(json.dumps(dataclasses.asdict(settings), indent=2) + "\n")


def _has_no_default(f: dataclasses.Field[Any]) -> bool:
    return f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"unknown setting {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def _check_type(name: str, value: Any, hint: Any) -> None:
    origin = hint if isinstance(hint, type) and not isinstance(hint, types.GenericAlias) else None
    expected = origin or typing.get_origin(hint)
    ok = isinstance(value, (int, float)) if expected is float else isinstance(value, expected)
    if isinstance(value, bool) and expected is not bool:
        ok = False
    if not ok:
        raise SettingsError(f"setting {name!r}: expected {expected.__name__}, got {type(value).__name__}")


def _check_values(s: TrainSettings) -> None:
    for name, allowed in _CHOICES.items():
        if getattr(s, name) not in allowed:
            raise SettingsError(f"setting {name!r}: expected one of {', '.join(allowed)}")
    for name in _POSITIVE:
        if getattr(s, name) <= 0:
            raise SettingsError(f"setting {name!r} must be greater than 0")
    for name in _NOT_NEGATIVE:
        if getattr(s, name) < 0:
            raise SettingsError(f"setting {name!r} must not be negative")
    if s.batch % s.mini_batch:
        raise SettingsError(f"setting 'batch' ({s.batch}) must be a multiple of 'mini_batch' ({s.mini_batch})")
    if s.old_logprobs == "rollout" and (s.temperature != 1.0 or s.top_p != 1.0):
        raise SettingsError("old_logprobs='rollout' needs temperature 1 and top_p 1; use 'recompute'")
