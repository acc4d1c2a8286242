"""verl's replay buffer, woken by the manager instead of polling every two seconds."""

from __future__ import annotations

import threading
from typing import Any

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

_POLL_SECONDS = 0.5
_wake = threading.Event()
_failure: list[BaseException] = []


def wake() -> None:
    """Tell the waiting trainer that group states in the queue have changed."""
    _wake.set()


def abort(error: BaseException) -> None:
    """Make the waiting trainer raise `error` instead of waiting on."""
    _failure.append(error)
    _wake.set()


class WakingReplayBuffer(ReplayBuffer):  # type: ignore[misc]
    """The stock buffer, except for how it waits and for the order of the batch.

    Groups end in any order; the batch is sorted by the order in which prompts were drawn, so that
    mini-batches are the same in every run with the same seed.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(poll_interval=_POLL_SECONDS, **kwargs)
        _failure.clear()

    def sample(self, *arguments: Any, **named: Any) -> Any:
        try:
            return super().sample(*arguments, **named)
        except RuntimeError as error:  # its own words for groups that all failed; we know what they failed of
            if _failure and _failure[0] is not error:
                raise _failure[0] from error
            raise

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        if not _failure:
            _wake.wait(self.poll_interval)
        _wake.clear()
        if _failure:
            raise _failure[0]
        return last_debug_time

    def _materialize_batch(self, partition_id: str, selected: list[str], snapshot: dict[str, dict[str, Any]]) -> Any:
        ordered = dict(sorted(snapshot.items(), key=lambda item: _order(*item)))
        return super()._materialize_batch(partition_id, selected, ordered)


def _order(key: str, tag: dict[str, Any]) -> tuple[int, int, str, int, int]:
    uid, session, index = key.rsplit("_", 2)
    return (int(tag.get("global_steps", 0)), int(tag.get("order", 0)), uid, int(session), int(index))
