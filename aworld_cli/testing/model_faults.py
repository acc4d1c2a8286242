"""How a fake model server's answers are late or wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Latency:
    """How long an answer takes: `mean` seconds, log-normal with `sigma`, drawn from the request's own seed.

    Equal requests take equally long, in whatever order they come.
    """

    mean: float = 0.0
    sigma: float = 0.0
    seed: int = 0

    def seconds(self, request_seed: int) -> float:
        """Return the latency of one request."""
        if not self.sigma:
            return self.mean
        normal = random.Random(f"{self.seed}/{request_seed}").gauss(0.0, self.sigma)
        return self.mean * math.exp(normal - self.sigma**2 / 2)


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with a request.

    Args:
        kind: `status` answers with `status`, `body` and `headers`; `slow` answers rightly after `seconds` more; `hang`
            never answers; `malformed` answers 200 with half a JSON; `drop` closes the connection without a word; `cut`
            closes it halfway through the body.
    """

    kind: Literal["status", "slow", "hang", "malformed", "drop", "cut"]
    status: int = 500
    body: str | dict[str, Any] = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
