"""Turns verl's own metrics log into one `step` event a step.

verl's `file` logger writes a JSON line a step to a path; the path is a pipe of ours, so that no
trainer class has to be replaced to see the metrics.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Any

from aworld_verl import stats
from aworld_verl.events import emit

_JOIN_SECONDS = 60.0
_SECONDS = "timing_s/"
_NAMES = {
    "gen": "generate",
    "update_actor": "update",
    "update_weights": "sync",
    "old_log_prob": "old_logprobs",
}


class StepFeed:
    """A context in which `path` is where verl's file logger should write.

    `last` is called after the event of the last step, while verl is still shutting down.
    """

    def __init__(self, steps: int, last: Callable[[], None]) -> None:
        self._steps = steps
        self._last = last
        self._read, self._write = os.pipe()
        self.path = f"/dev/fd/{self._write}"
        self._thread = threading.Thread(target=self._pump, name="steps", daemon=True)

    def __enter__(self) -> StepFeed:
        self._thread.start()
        return self

    def __exit__(self, *unused: object) -> None:
        os.close(self._write)
        self._thread.join(_JOIN_SECONDS)

    def _pump(self) -> None:
        with os.fdopen(self._read, "rb") as lines:
            for line in lines:
                record = json.loads(line)
                step = int(record["step"])
                emit("step", **step_event(step, self._steps, record["data"]))
                if step >= self._steps:
                    self._last()


def step_event(step: int, of: int, data: dict[str, Any]) -> dict[str, Any]:
    """The body of a `step` event from verl's metrics and what our episodes counted."""
    seconds = {
        _NAMES.get(name, name): round(float(value), 4)
        for key, value in data.items()
        if key.startswith(_SECONDS) and (name := key.removeprefix(_SECONDS))
    }
    kept = stats.take(step)
    metrics = {k: v for k, v in data.items() if not k.startswith(("timing", "perf/", "global_seqlen"))}
    reward = float(data.get("critic/score/mean", 0.0))
    if kept is not None:
        reward = kept.reward
        metrics |= {f"episode/{name}": value for name, value in kept.means.items()}
        metrics |= {"episode/samples": kept.samples, "episode/failed_groups": kept.failed_groups}
    return {"step": step, "of": of, "seconds": seconds, "reward": reward, "metrics": metrics}
