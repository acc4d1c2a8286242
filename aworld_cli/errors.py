"""Every expected mistake is an `AWorldError`: one clear line and an exit code.

Anything else that reaches the top of the program is a bug and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class AWorldError(Exception):
    """An expected mistake. `str(error)` is what the user reads; it may hold several lines, one a problem."""

    exit_code = 1


class UsageError(AWorldError):
    """The command line itself is wrong."""

    exit_code = 2


class Stopped(AWorldError):
    """The run stopped before its end and can be resumed."""

    exit_code = 3


class RecipeError(AWorldError):
    """The recipe is wrong; every problem is a line of its own, `file:line:column: key: what, how to mend`."""

    exit_code = 4


class PluginError(AWorldError):
    """A plugin that is needed is missing, broken, incompatible or ambiguous."""

    exit_code = 5


class MachineError(AWorldError):
    """The machine lacks something (key, program, package, data, endpoint); the text holds the remedy."""

    exit_code = 6


class EpisodeError(Exception):
    """Infrastructure failed within an episode: it is retried up to a bound, then recorded, never graded.

    Attributes:
        kind: what failed: "model", "tool", "environment", "timeout", or "plugin" for an exception that none of our
            contracts knows.
        retryable: False when the same request cannot succeed (a refused key, say).
        fatal: True when no other episode can succeed either, so that the run stops with this text.
        trajectory: what the episode had done by then (a `Trajectory`), where that is known.
        traceback: for "plugin".
    """

    def __init__(self, kind: str, message: str, *, retryable: bool = True, fatal: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.retryable = retryable
        self.fatal = fatal
        self.trajectory: Any = None
        self.traceback = ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest of `known`, or what there is to choose from."""
    choices = sorted(set(known))
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(choices)}" if choices else ""
