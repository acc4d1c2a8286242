"""An episode source without tools, for the tests: the reward is the share of tokens with an even id."""

from __future__ import annotations

import random
import zlib
from typing import Any

from aworld_verl.episodes import Generate, Sample


class ToySource:
    """Two turns with three observed tokens between them. `fail_tasks` raise."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._fail = set(settings.get("fail_tasks", ()))

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def episode(self, task_id: str, sample: int, step: int, validate: bool, generate: Generate) -> list[Sample]:
        if task_id in self._fail:
            raise OSError("the tool server died")
        prompt = [2, *(random.Random(task_id).randrange(3, 60) for _ in range(6))]
        seed, request = zlib.crc32(f"{task_id}/{sample}/{step}".encode()), f"{task_id}/{sample}"
        first = await generate(prompt, max_tokens=6, temperature=1.0, top_p=1.0, seed=seed, request_id=request)
        seen = [*prompt, *first.ids, 5, 6, 7]
        second = await generate(seen, max_tokens=4, temperature=1.0, top_p=1.0, seed=seed + 1, request_id=request)
        sampled = [*first.ids, *second.ids]
        reward = sum(i % 2 == 0 for i in sampled) / len(sampled)
        return [
            Sample(
                prompt_ids=prompt,
                response_ids=[*first.ids, 5, 6, 7, *second.ids],
                loss_mask=[1] * len(first.ids) + [0] * 3 + [1] * len(second.ids),
                logprobs=[*first.logprobs, 0.0, 0.0, 0.0, *second.logprobs],
                reward=reward,
                turns=2,
                info={"even": reward},
            )
        ]
