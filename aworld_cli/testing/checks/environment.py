"""Environments: the same tasks in the same order everywhere, and grades that depend on the answer alone."""

from __future__ import annotations

import inspect
import itertools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from aworld_cli.environment.base import Environment, Task
from aworld_cli.errors import AWorldError
from aworld_cli.host.registry import describe
from aworld_cli.runtime.episode import checked
from aworld_cli.testing.check import Check, fail
from aworld_cli.testing.fresh import ask
from aworld_cli.testing.subject import Subject
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Grade

_LISTED = 500  # tasks of a split that are compared between processes
_GRADED = 5  # tasks of a split that answers are graded for
_GRADE_SECONDS = 1.0  # of one grade: the event loop waits for it
_ANSWERS: tuple[str | None, ...] = (None, "", "42", "The answer is: naïve 数 \N{BULLSEYE}", "\x00\n{}%s", "7 " * 20_000)


def checks(subject: Subject) -> list[Check]:
    """Return the checks of an environment."""
    return [
        subject.check("has splits", _splits),
        subject.check("tasks are sound", _tasks),
        subject.check("limit is respected", _limit),
        subject.check("tasks are the same in every process", _same_everywhere),
        subject.check("refuses an unknown split", _unknown_split),
        subject.check("grades every answer", _grades),
        subject.check("grades the reference answer as right", _reference),
        subject.check("has a corpus", _corpus),
    ]


def _asked(subject: Subject, doing: str, work: Callable[[], Any]) -> Any:
    """Return what the environment gives; a failure that is no AWorldError fails the check."""
    __tracebackhide__ = True
    try:
        return work()
    except AWorldError as error:
        return subject.skip(str(error))
    except Exception as error:
        fail(f"{subject.title}: {doing} raised {describe(error)}", error)


def _listing(subject: Subject, limit: int | None = None) -> tuple[Environment, dict[str, list[Task]]]:
    """Return the environment and each split's tasks."""
    __tracebackhide__ = True
    environment: Environment = subject.make()
    splits = _asked(subject, "splits()", lambda: list(environment.splits()))
    return environment, {split: _ask_tasks(subject, environment, split, limit) for split in splits}


def _ask_tasks(subject: Subject, environment: Environment, split: str, limit: int | None) -> list[Task]:
    __tracebackhide__ = True
    asking = f"tasks({split!r}, {limit})"
    tasks: list[Task] = _asked(subject, asking, lambda: environment.tasks(split, limit))
    subject.require(isinstance(tasks, list), f"{asking} gave a {type(tasks).__name__}, not a list")
    return tasks


def _splits(subject: Subject) -> None:
    environment: Environment = subject.make()
    splits = _asked(subject, "splits()", lambda: list(environment.splits()))
    subject.require(splits, "splits() names no split, so no recipe can use it")
    subject.require(all(isinstance(one, str) and one for one in splits), f"splits() gives {splits!r}, not names")
    subject.require(len(set(splits)) == len(splits), f"splits() names one twice: {splits!r}")


def _tasks(subject: Subject) -> None:
    seen: dict[str, str] = {}
    _, listing = _listing(subject)
    for split, tasks in listing.items():
        subject.require(tasks, f"the split {split!r} has no tasks; do not name a split that is empty")
        for task in tasks:
            subject.require(isinstance(task, Task), f"tasks() gave a {type(task).__name__}, not an environment.Task")
            subject.require(isinstance(task.id, str) and task.id, f"the id {task.id!r} is not a text")
            subject.require(
                task.id not in seen,
                f"the id {task.id!r} stands for two tasks (of the splits {seen.get(task.id)!r} and {split!r}); records "
                "are told apart by it",
            )
            seen[task.id] = split
            messages = task.messages if isinstance(task.messages, tuple | list) else ()
            subject.require(
                messages and all(isinstance(message, Message) for message in messages),
                f"the messages of {task.id!r} are {task.messages!r}, not some trajectory.Message in a tuple",
            )
            subject.require(
                task.answer is None or isinstance(task.answer, str), f"the answer of {task.id!r} is not a text"
            )


def _limit(subject: Subject) -> None:
    environment, listing = _listing(subject)
    for split, tasks in listing.items():
        whole = [(task.id, task.hash) for task in tasks]
        for limit in (1, 3, len(whole) + 1):
            got = _ask_tasks(subject, environment, split, limit)
            subject.require(
                [(task.id, task.hash) for task in got] == whole[:limit],
                f"tasks({split!r}, {limit}) are not the first {limit} of tasks({split!r}, None): a recipe's `tasks:` "
                "must choose a beginning of one fixed order",
            )


def _same_everywhere(subject: Subject) -> None:
    subject.make()
    job = {
        "do": "tasks",
        "factory": subject.component.factory,
        "config": subject.component.config,
        "options": dict(subject.options or {}),
        "limit": _LISTED,
    }
    answers = [ask(job, PYTHONHASHSEED=seed)[0] for seed in ("1", "2")]
    for split in answers[0]:
        subject.require(
            answers[0][split] == answers[1].get(split),
            f"two processes list other tasks of {split!r}, or in another order, or with other data; resume and "
            "comparisons rely on them. Sort what comes from a set or a directory, derive randomness from "
            "aworld_cli.seeds.derive_seed, and keep objects without a fixed text out of Task.metadata",
        )


def _unknown_split(subject: Subject) -> None:
    environment: Environment = subject.make()
    try:
        got = list(environment.tasks("no-such-split", 1))
    except (ValueError, AWorldError) as error:
        subject.require(str(error).strip(), "tasks() of an unknown split raises an error without a text")
        return
    except Exception as error:
        fail(f"{subject.title}: an unknown split raised {describe(error)}; raise ValueError with the known ones", error)
    subject.fail(f"an unknown split gave {len(got)} tasks; raise ValueError with the known ones")


def _grades(subject: Subject) -> None:
    environment, listing = _listing(subject, _GRADED)
    for task in itertools.chain.from_iterable(listing.values()):
        for answer in (*_ANSWERS, task.answer):
            asked = f"grade() of {task.id!r} with the answer {_short(answer)}"
            began = time.monotonic()
            first = _grade(subject, environment, task, answer, asked)
            middle = time.monotonic()
            second = _grade(subject, environment, task, answer, asked)
            subject.require(first == second, f"{asked} gave {first} and then {second}; equal answers get equal grades")
            seconds = min(middle - began, time.monotonic() - middle)
            subject.require(
                seconds < _GRADE_SECONDS,
                f"{asked} took {seconds:.1f} s, and all other episodes wait, for it runs on the event loop; compute "
                "what is slow once, or not here",
            )


def _grade(subject: Subject, environment: Environment, task: Task, answer: str | None, asked: str) -> Grade:
    __tracebackhide__ = True
    try:
        grade = environment.grade(task, answer, [*task.messages, Message("assistant", answer or "")])
    except AWorldError as error:
        return subject.skip(str(error))
    except Exception as error:
        fail(f"{subject.title}: {asked} raised {describe(error)}; an answer that cannot be read is a wrong one", error)
    if inspect.iscoroutine(grade):
        grade.close()  # or Python warns of it elsewhere
        subject.fail(f"{asked} gave a coroutine, not a trajectory.Grade; write `def grade`, it is not awaited")
    subject.require(isinstance(grade, Grade), f"{asked} gave a {type(grade).__name__}, not a trajectory.Grade")
    try:
        checked(grade)
        json.dumps(grade.to_json(), allow_nan=True)
    except Exception as error:
        fail(f"{subject.title}: {asked}: {error}; the record must be JSON, its reward in [0, 1]", error)
    subject.require(isinstance(grade.details, Mapping), f"{asked}: the details are not a mapping")
    subject.require(grade.correct in (True, False, None), f"{asked}: `correct` is {grade.correct!r}")
    return grade


def _reference(subject: Subject) -> None:
    environment, listing = _listing(subject, _GRADED)
    for task in itertools.chain.from_iterable(listing.values()):
        if task.answer is None:
            continue
        right = _grade(subject, environment, task, task.answer, f"grade() of {task.id!r} with its reference answer")
        none = _grade(subject, environment, task, None, f"grade() of {task.id!r} without an answer")
        subject.require(
            right.correct is not False and right.reward >= none.reward,
            f"the reference answer {task.answer!r} of {task.id!r} is graded {right}; Task.answer is what `grade` "
            "accepts (leave it out where grading needs none)",
        )


def _corpus(subject: Subject) -> None:
    def read() -> list[str]:
        environment: Environment = subject.make()
        texts: list[str] = _asked(subject, "corpus()", lambda: list(itertools.islice(environment.corpus(), 1_000)))
        return texts

    first = read()
    subject.require(all(isinstance(text, str) for text in first), "corpus() yields what is not a text")
    subject.require(
        first == read(), "corpus() is another one each time, so the tokens of a policy made from it are too"
    )


def _short(answer: str | None) -> str:
    text = repr(answer)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(answer or ''):,} characters)"
