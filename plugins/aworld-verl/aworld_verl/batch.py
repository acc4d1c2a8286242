"""Turns samples into what verl's trainer reads from TransferQueue: keys, tags, jagged tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from tensordict import NonTensorData, NonTensorStack, TensorDict

from aworld_verl.episodes import Sample


@dataclass(frozen=True, slots=True)
class Group:
    """One prompt of the step: verl's `uid`, our task id, its place in the step."""

    uid: str
    task_id: str
    order: int


@dataclass(slots=True)
class Row:
    """One sequence with its place: `session` is the episode of the group, `index` its part."""

    group: Group
    session: int
    index: int
    sample: Sample
    reward: float

    @property
    def key(self) -> str:
        """The key that verl parses: `{uid}_{session}_{index}`."""
        return f"{self.group.uid}_{self.session}_{self.index}"


def rows_of(group: Group, episodes: Sequence[list[Sample]]) -> list[Row]:
    """Rows of a group; an episode of several sequences gets its last one's reward on all."""
    return [
        Row(group, session, index, sample, samples[-1].reward)
        for session, samples in enumerate(episodes)
        for index, sample in enumerate(samples)
    ]


def tags_of(rows: Sequence[Row], step: int, version: int) -> list[dict[str, Any]]:
    """verl's bookkeeping of each row; `version` is the weight version that sampled it."""
    return [
        {
            "status": "success",
            "prompt_len": len(row.sample.prompt_ids),
            "response_len": len(row.sample.response_ids),
            "seq_len": len(row.sample.prompt_ids) + len(row.sample.response_ids),
            "global_steps": step,
            "min_global_steps": version,
            "max_global_steps": version,
            "order": row.group.order,
        }
        for row in rows
    ]


def tensors_of(rows: Sequence[Row]) -> TensorDict:
    """The fields of all rows, one jagged tensor a field, without padding."""
    prompts = [torch.tensor(row.sample.prompt_ids) for row in rows]
    responses = [torch.tensor(row.sample.response_ids) for row in rows]
    masks = [torch.tensor(row.sample.loss_mask) for row in rows]
    inputs = [torch.cat(pair) for pair in zip(prompts, responses, strict=True)]
    fields: dict[str, Any] = {
        "prompts": _jagged(prompts),
        "responses": _jagged(responses),
        "response_mask": _jagged(masks),
        "loss_mask": _jagged(masks),
        "input_ids": _jagged(inputs),
        "position_ids": _jagged([torch.arange(len(ids)) for ids in inputs]),
        "rollout_log_probs": _jagged([torch.tensor(row.sample.logprobs) for row in rows]),
        "rm_scores": _jagged([_last(row.reward, len(row.sample.response_ids)) for row in rows]),
        "num_turns": _stack([row.sample.turns for row in rows]),
        "uid": _stack([row.group.uid for row in rows]),
    }
    return TensorDict(fields, batch_size=[len(rows)])


def _last(reward: float, length: int) -> torch.Tensor:
    scores = torch.zeros(length)
    scores[-1] = reward
    return scores


def _jagged(tensors: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(tensors, layout=torch.jagged)


def _stack(values: list[Any]) -> NonTensorStack:
    return NonTensorStack(*(NonTensorData(value) for value in values))
