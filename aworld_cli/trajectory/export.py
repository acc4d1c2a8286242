"""Episodes in the forms that other programs read, a row at a time.

`flat` rows hold an episode each, with figures as plain columns; `chat` rows a conversation with a mask a message;
`token` rows a sequence of ids with a mask and log-probabilities a token.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aworld_cli.trajectory.sampled import sampled_messages
from aworld_cli.trajectory.stored import SETTLED

#: The columns of a flat row, and what each holds; `docs/runs.md` says the same.
FLAT_COLUMNS: dict[str, str] = {
    "run": "the run's name",
    "stage": "the stage's name",
    "kind": "the stage's kind",
    "task": "the task's id",
    "hash": "the hash of the task's data",
    "sample": "which of the task's episodes, from 0",
    "outcome": "answered, limit, error or cancelled",
    "model": "the model's name",
    "seed": "the episode's seed",
    "answer": "the answer; null where there is none",
    "reward": "the grade's reward in [0, 1]; null without a grade",
    "correct": "the grade's verdict; null where it has none",
    "details": "what explains the grade",
    "rescored": "whether the grade is a later one than the run's own",
    "limit": "which limit was met",
    "error_kind": "what failed",
    "error": "what was said of it",
    "attempts": "how often the episode was tried",
    "seconds": "what it took",
    "turns": "how many model calls",
    "model_seconds": "what those took",
    "tool_seconds": "what the tool calls took",
    "prompt_tokens": "tokens that the model calls were given",
    "completion_tokens": "tokens that the model wrote",
    "tool_calls": "how many tool calls",
    "tool_errors": "how many of them failed",
    "messages": "the conversation, in the OpenAI form",
}
_SUMS = ("model_seconds", "tool_seconds", "prompt_tokens", "completion_tokens", "tool_calls", "tool_errors")


def flat_row(record: Mapping[str, Any], *, run: str, stage: str, kind: str) -> dict[str, Any]:
    """Return an episode's row (see `FLAT_COLUMNS`)."""
    episode, error = record["episode"], record.get("error") or {}
    grade, turns = record.get("grade") or {}, record.get("turns") or []
    row = {
        "run": run,
        "stage": stage,
        "kind": kind,
        **{key: episode[key] for key in ("task", "hash", "sample")},
        **{key: record.get(key) for key in ("outcome", "model", "seed", "answer")},
        "reward": grade.get("reward"),
        "correct": grade.get("correct"),
        "details": grade.get("details"),
        "rescored": bool(record.get("rescored")),
        "limit": record.get("limit"),
        "error_kind": error.get("kind"),
        "error": error.get("message"),
        "attempts": record.get("attempts"),
        "seconds": record.get("seconds"),
        "turns": len(turns),
        **{key: round(sum(turn.get(key, 0) for turn in turns), 4) for key in _SUMS},
        "messages": record.get("messages") or [],
    }
    return {key: row[key] for key in FLAT_COLUMNS}


def chat_rows(
    record: Mapping[str, Any], *, run: str, stage: str, tools: Sequence[Any] | None
) -> Iterator[dict[str, Any]]:
    """Yield the conversation of a settled episode with what to learn of it; nothing for one that has no replies.

    `messages` have the form that chat templates take, with a tool call's arguments as an object. Each assistant
    message says whether it is to be learnt (`train`): those that the model wrote in this episode are, worked examples
    in the task's prompt are not.

    Args:
        tools: what the agent was offered, as chat templates take it; left out where that is not known.
    """
    flags = sampled_messages(record)
    if record["outcome"] not in SETTLED or not any(flags):
        return
    messages = []
    for message, flag in zip(record["messages"], flags, strict=True):
        calls = message.get("tool_calls")
        shown = {**message, **({"tool_calls": [_call(call) for call in calls]} if calls else {})}
        messages.append({**shown, **({"train": flag} if message["role"] == "assistant" else {})})
    grade = record.get("grade") or {}
    yield {
        "messages": messages,
        **({"tools": list(tools)} if tools else {}),
        **_origin(record, run=run, stage=stage),
        "reward": grade.get("reward"),
        "correct": grade.get("correct"),
        "details": grade.get("details"),
    }


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call.get("function") or {}
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            value = None
        arguments = value if isinstance(value, dict) else arguments  # what is no object stays what the model wrote
    return {**call, "function": {**function, "arguments": arguments}}


def token_rows(record: Mapping[str, Any], *, run: str, stage: str) -> Iterator[dict[str, Any]]:
    """Yield a settled episode's sequences; equal lengths: `input_ids`, `loss_mask` (1 on sampled tokens), `logprobs`.

    `logprobs` are natural logarithms at the sampling temperature, 0.0 where the mask is 0; null for a teacher's text.
    """
    if record["outcome"] not in SETTLED:
        return
    grade = record.get("grade") or {}
    for number, sequence in enumerate(record.get("sequences") or ()):
        prompt, logprobs = sequence["prompt_ids"], sequence["logprobs"]
        yield {
            "input_ids": prompt + sequence["response_ids"],
            "loss_mask": [0] * len(prompt) + sequence["loss_mask"],
            "logprobs": None if logprobs is None else [0.0] * len(prompt) + logprobs,
            "prompt_length": len(prompt),
            **_origin(record, run=run, stage=stage),
            "sequence": number,
            "reward": grade.get("reward"),
            "correct": grade.get("correct"),
        }


def _origin(record: Mapping[str, Any], *, run: str, stage: str) -> dict[str, Any]:
    episode = record["episode"]
    return {"run": run, "stage": stage, **{key: episode[key] for key in ("task", "hash", "sample")}}
