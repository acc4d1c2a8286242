"""The interface of environments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Grade


@dataclass(frozen=True, slots=True)
class Task:
    """One problem.

    Args:
        id: unique within the environment.
        messages: what the agent is told; never holds the reference answer.
        answer: the reference answer, which only `grade` sees.
        metadata: what else grading or reports need; never shown to the agent.
    """

    id: str
    messages: tuple[Message, ...]
    answer: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def hash(self) -> str:
        """Hash of the task's data, part of an episode's identity (BLAKE2b, 8 bytes, version 1)."""
        data = [1, self.id, [m.to_json() for m in self.messages], self.answer, self.metadata]
        text = json.dumps(data, sort_keys=True, ensure_ascii=False, default=str)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class Environment(Protocol):
    """A source of tasks with a grader; the same options give the same tasks on every machine."""

    name: str

    def splits(self) -> Sequence[str]:
        """Return the names of the splits; no task is in two of them."""
        ...

    def tasks(self, split: str, limit: int | None) -> list[Task]:
        """Return the first `limit` tasks of a split in its fixed order; all of them when `limit` is None."""
        ...

    def grade(self, task: Task, answer: str | None, messages: Sequence[Message]) -> Grade:
        """Grade an answer; None means that the agent gave none."""
        ...

    def corpus(self) -> Iterable[str]:
        """Yield texts as this environment's episodes hold them, for a tokenizer made at run time."""
        ...
