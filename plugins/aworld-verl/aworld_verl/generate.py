"""The two ways to sample from the policy: in this process, or from verl's rollout servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aworld_verl.cpu.policy import LocalPolicy
from aworld_verl.episodes import Generation, Sampled


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
        generation: Generation = await self._policy.engine.generate(
            prompt_ids,
            max_tokens=max_tokens,
            temperature=temperature,
            top_p=top_p,
            seed=seed,
            stop_ids=stop_ids,
        )
        return generation


class ServerGenerate:
    """`Generate` over verl's own LLM client: any rollout server that verl can launch."""

    def __init__(self, client: Any) -> None:
        self._client = client

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
        """See `Generate`. Raises RuntimeError if the server gives no log-probabilities."""
        params: dict[str, Any] = {
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "top_k": -1,
            "logprobs": True,
        }
        if stop_ids:
            params["stop_token_ids"] = list(stop_ids)
        output = await self._client.generate(request_id, prompt_ids=prompt_ids, sampling_params=params)
        ids = list(output.token_ids)
        logprobs = list(output.log_probs or [])
        if len(logprobs) != len(ids):
            raise RuntimeError(f"the rollout server gave {len(logprobs)} log-probabilities for {len(ids)} tokens")
        return Sampled(ids, logprobs, _stop_reason(output.stop_reason, len(ids), max_tokens))


def _stop_reason(reason: str | None, length: int, max_tokens: int) -> str:
    if reason in ("aborted", "abort"):
        return "abort"
    return "length" if length >= max_tokens else "stop"
