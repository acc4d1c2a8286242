"""Finds the episodes of the task that a person names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aworld_cli.errors import UsageError, did_you_mean
from aworld_cli.trajectory.stored import StoredEpisodes

_SHOWN = 5


def match_task(text: str, known: Iterable[str]) -> str:
    """Return the task id that `text` names: exactly, or as a beginning that only one id has.

    Raises:
        UsageError: there is none, or several begin so.
    """
    ids = dict.fromkeys(known)
    if text in ids:
        return text
    found = [task for task in ids if task.startswith(text)] if text else []
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(map(repr, found[:_SHOWN])) + (", ..." if len(found) > _SHOWN else "")
        raise UsageError(f"{text!r} is the beginning of {len(found)} tasks: {shown}")
    if not ids:
        raise UsageError("no episode is on record")
    near = did_you_mean(text, ids)
    if "did you mean" not in near:
        near = f"; for a list of them: --tasks (the first is {next(iter(ids))!r})"
    raise UsageError(f"no task is called {text!r}{near}")


def task_ids(episodes: StoredEpisodes) -> list[str]:
    """Return the ids of the tasks on record, each once."""
    return list(dict.fromkeys(record["episode"]["task"] for record in episodes))


def task_records(episodes: StoredEpisodes, task: str) -> list[dict[str, Any]]:
    """Return the records of a task's episodes by sample."""
    found = [record for record in episodes if record["episode"]["task"] == task]
    return sorted(found, key=lambda record: (record["episode"]["sample"], record["episode"]["hash"]))
