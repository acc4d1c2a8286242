"""Every expected mistake is an `AWorldError`: one clear line and an exit code.

Anything else that reaches the top of the program is a bug and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

#: Every exit code of `aworld`, and what it says.
EXIT_CODES: tuple[tuple[int, str], ...] = (
    (0, "done"),
    (1, "done, but below `--min-score`, or with more failed episodes than `--max-errors` allows; or a check failed"),
    (2, "the command line or a setting is wrong"),
    (3, "stopped before the end (SIGTERM, SIGHUP); `aworld run --resume RUN` goes on"),
    (4, "the recipe is wrong"),
    (5, "a plugin that is needed is missing, broken, incompatible or ambiguous"),
    (6, "the machine lacks something: a key, a program, a package, data, an endpoint, room on the disk"),
    (130, "interrupted (Ctrl-C); `aworld run --resume RUN` goes on"),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a recipe or a setting, and where it stands.

    Args:
        message: what is wrong, and how to mend it.
        key: the key path as people write it (`stages[0].rollout.tasks`); "" for the file as a whole.
        source: the file, the option (`--set KEY`) or the variable that holds it.
        line: from 1; None where the source has no lines.
        column: from 1; None where the source has no lines.
    """

    message: str
    key: str = ""
    source: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = [self.source, *(str(at) for at in (self.line, self.column) if at is not None)]
        return ": ".join(part for part in (":".join(place), self.key, self.message) if part)


class AWorldError(Exception):
    """An expected mistake. `str(error)` is what the user reads; it may hold several lines, one a problem.

    Attributes:
        exit_code: one of `EXIT_CODES`.
        resumable: whether the run that it ended can go on as it is, once what the text says is mended.
        problems: the same mistakes one by one, where their places are known.
    """

    exit_code = 1
    resumable = False
    problems: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, problems: Iterable[Problem]) -> Self:
        """Return the error that says all of `problems`, a line each; one that is there twice is said once."""
        found = tuple(dict.fromkeys(problems))
        error = cls("\n".join(dict.fromkeys(map(str, found))))
        error.problems = found
        return error


class UsageError(AWorldError):
    """The command line itself is wrong."""

    exit_code = 2


class Stopped(AWorldError):
    """The run stopped before its end and can be resumed."""

    exit_code = 3
    resumable = True


class TooManyErrors(AWorldError):
    """More episodes failed for infrastructure's sake than may be learnt without; they can be run again."""

    resumable = True


class RecipeError(AWorldError):
    """The recipe is wrong; every problem is a line of its own, `file:line:column: key: what, how to mend`."""

    exit_code = 4


class PluginError(AWorldError):
    """A plugin that is needed is missing, broken, incompatible or ambiguous."""

    exit_code = 5


class MachineError(AWorldError):
    """The machine lacks something (key, program, package, data, endpoint); the text holds the remedy."""

    exit_code = 6
    resumable = True


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


class ContextOverflow(EpisodeError):
    """A conversation no longer fits the model's context: a limit of the episode, not a failure of infrastructure.

    Models raise it; the episode is then graded with the answer that the agent had by then, its limit is `context`.
    """

    def __init__(self, message: str) -> None:
        super().__init__("context", message, retryable=False)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest of `known`, or what there is to choose from."""
    choices = sorted(set(known))
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known: {', '.join(choices)}" if choices else ""
