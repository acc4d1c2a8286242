"""What a step's episodes were like, kept until the driver reports the step."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from aworld_verl.episodes import Sample


@dataclass(slots=True)
class StepStats:
    """Means over the step's samples (before any shuffling of rewards), and the groups that failed."""

    step: int
    samples: int
    reward: float
    means: dict[str, float] = field(default_factory=dict)
    failed_groups: int = 0
    first_error: BaseException | None = None

    @classmethod
    def of(cls, step: int, samples: Sequence[Sample], errors: Sequence[BaseException]) -> StepStats:
        """Summarise; `means` holds turns, response tokens and every key of `info`."""
        values: dict[str, list[float]] = defaultdict(list)
        for sample in samples:
            values["turns"].append(sample.turns)
            values["sampled_tokens"].append(sum(sample.loss_mask))
            values["response_tokens"].append(len(sample.response_ids))
            for name, value in sample.info.items():
                values[name].append(value)
        reward = sum(s.reward for s in samples) / len(samples) if samples else 0.0
        means = {name: sum(v) / len(v) for name, v in values.items()}
        return cls(step, len(samples), reward, means, len(errors), errors[0] if errors else None)


_lock = threading.Lock()
_steps: dict[int, StepStats] = {}


def record(stats: StepStats) -> None:
    """Keep the figures of a step."""
    with _lock:
        _steps[stats.step] = stats


def take(step: int) -> StepStats | None:
    """Take the figures of a step, once."""
    with _lock:
        return _steps.pop(step, None)
