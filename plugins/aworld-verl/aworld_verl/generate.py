"""Sampling from the policy that is being trained."""

from __future__ import annotations

from collections.abc import Sequence

from aworld_verl.cpu.policy import LocalPolicy
from aworld_verl.episodes import Generation, PromptTooLong


class LocalGenerate:
    """`Generate` over an engine in this process: no Ray call, so batches form by themselves."""

    def __init__(self, policy: LocalPolicy) -> None:
        self._policy = policy

    async def __call__(
        self,
        prompt_ids: list[int],
        *,
        max_tokens: int,
        temperature: float,
        top_p: float,
        seed: int,
        request_id: str,
        stop_ids: Sequence[int] = (),
    ) -> Generation:
        """See `Generate`."""
        engine = self._policy.engine
        if len(prompt_ids) >= getattr(engine, "context", float("inf")):
            raise PromptTooLong(f"the prompt has {len(prompt_ids)} tokens, the model takes {engine.context}")
        generation: Generation = await engine.generate(
            prompt_ids,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
            stop_ids=stop_ids,
        )
        return generation
