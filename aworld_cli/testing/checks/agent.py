"""Agents: every episode ends in a valid attempt, failures of the model get through, and episodes share nothing."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Sequence
from typing import Any, cast

from aworld_cli.agent.base import Agent, AgentContext, Attempt
from aworld_cli.environment.base import Task
from aworld_cli.errors import AWorldError, ContextOverflow, EpisodeError
from aworld_cli.host.registry import describe
from aworld_cli.model.base import ChatRequest, Model, Reply
from aworld_cli.recipe.schema import Sampling
from aworld_cli.runtime.base import Episode
from aworld_cli.runtime.episode import EpisodeRunner
from aworld_cli.testing.check import Check
from aworld_cli.testing.stage import EchoModel, EchoTokenModel, KitEnvironment, KitTools
from aworld_cli.testing.subject import Subject
from aworld_cli.tool.toolset import ToolSet
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import Trajectory

_FOR_EVER = 10**6  # turns with a tool call
_SECONDS = 30.0  # of an episode whose model takes no time


def checks(subject: Subject) -> list[Check]:
    """Return the checks of an agent."""
    return [
        subject.check("opens with messages", _opening),
        subject.check("ends in a valid attempt", _attempts),
        subject.check("ends though the model never stops", _endless),
        subject.check("lives with tools that fail", _failing_tools),
        subject.check("passes a failure of the model on", _failing_model),
        subject.check("ends when the model's context is full", _full_context),
        subject.check("passes a cancellation on", _cancelled),
        subject.check("keeps no state between episodes", _stateless),
    ]


def _tasks(number: int) -> list[Task]:
    return KitEnvironment().tasks("train", number)


class _Heard:
    """An agent, of which it is kept what `attempt` returns."""

    result: object = None

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.name: str = getattr(agent, "name", "agent")
        self.opening = agent.opening

    async def attempt(self, context: AgentContext, attempt: Attempt) -> None:
        """See `Agent.attempt`."""
        self.result = await cast(Any, self.agent).attempt(context, attempt)


async def _episode(
    subject: Subject, agent: Agent, model: Any, task: Task, *, tools: KitTools | None = None, sample: int = 0
) -> Trajectory:
    """Run one episode by the real code; what is not an EpisodeError or an AWorldError fails the check."""
    __tracebackhide__ = True
    heard = _Heard(agent)
    runner = EpisodeRunner(
        environment=KitEnvironment(),
        agent=heard,
        model=cast(Model, model),
        tools=cast(ToolSet, tools or KitTools()),
        sampling=Sampling(),
    )
    try:
        async with asyncio.timeout(_SECONDS):
            trajectory = await runner.run(Episode(task, sample, 1_000 + sample))
    except (EpisodeError, AWorldError, _Unavailable):
        raise
    except TimeoutError as error:
        subject.fail(
            f"an episode did not end within {_SECONDS:g} s of a model that takes no time; bound its turns, and set "
            "attempt.outcome = 'limit' and attempt.limit at the bound",
            error,
        )
    except Exception as error:
        subject.fail(f"attempt() raised {describe(error)}; see aworld_cli.agent.Agent.attempt", error)
    subject.require(
        heard.result is None,
        f"attempt() returned {heard.result!r:.100}, which nobody reads; set attempt.answer, and return nothing",
    )
    return trajectory


def _opening(subject: Subject) -> None:
    agent: Agent = subject.make()
    for task in _tasks(3):
        before = copy.deepcopy(task)
        messages = agent.opening(task)
        subject.require(
            isinstance(messages, list) and messages and all(isinstance(one, Message) for one in messages),
            f"opening() gave {messages!r}, not a list of some trajectory.Message",
        )
        subject.require(agent.opening(task) == messages, "opening() of one task differs from call to call")
        subject.require(task == before, "opening() changed the task; make messages of your own")


def _valid(subject: Subject, trajectory: Trajectory) -> None:
    outcome, answer, limit = trajectory.outcome, trajectory.answer, trajectory.limit
    subject.require(
        outcome in ("answered", "limit"), f"its attempt's outcome is {outcome!r}, not 'answered' or 'limit'"
    )
    subject.require(
        answer is None or isinstance(answer, str), f"its attempt's answer is {answer!r}, not a text or None"
    )
    subject.require(
        answer is not None or outcome != "answered",
        "its attempt's outcome is 'answered', but attempt.answer is None; set it to what the model said",
    )
    subject.require(
        bool(limit) == (outcome == "limit"),
        f"its attempt has the outcome {outcome!r} and the limit {limit!r}; name the limit where one was reached",
    )
    subject.require(trajectory.turns, "its attempt has no turns; append a trajectory.Turn for each reply of the model")
    subject.require(trajectory.messages, "it opened no session; talk to the model by context.open_session(messages)")
    try:
        json.dumps(trajectory.to_json())
    except Exception as error:
        subject.fail(f"the record of its attempt is not JSON: {error}", error)
    _well_formed(subject, trajectory.messages)


def _well_formed(subject: Subject, messages: Sequence[Message]) -> None:
    """Endpoints refuse a conversation in which a tool call is not answered before the next turn."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            known = message.tool_call_id in waiting
            subject.require(
                known, f"it observes a tool's result for the call {message.tool_call_id!r}, which is not open"
            )
            waiting.remove(message.tool_call_id or "")
            continue
        subject.require(
            not waiting,
            f"it goes on though the tool calls {waiting} have no result; observe a `tool` message for each, at a limit "
            "too",
        )
        waiting = [call.id for call in message.tool_calls]


def _attempts(subject: Subject) -> None:
    async def main() -> None:
        for calls in (0, 1, 3):
            for model in (EchoModel(calls=calls), EchoTokenModel(calls=calls)):
                agent: Agent = subject.make()
                trajectory = await _episode(subject, agent, model, _tasks(1)[0])
                _valid(subject, trajectory)
                subject.require(
                    len(set(model.asked)) == len(model.asked),
                    "two replies of an episode have one `turn`, thus one seed, so one text may come twice; number all "
                    "replies, across the episode's sessions",
                )

    asyncio.run(main())


def _endless(subject: Subject) -> None:
    async def main() -> None:
        trajectory = await _episode(subject, subject.make(), EchoModel(calls=_FOR_EVER), _tasks(1)[0])
        _valid(subject, trajectory)

    asyncio.run(main())


def _failing_tools(subject: Subject) -> None:
    async def main() -> None:
        agent, tools = subject.make(), KitTools(fails=True)
        _valid(subject, await _episode(subject, agent, EchoModel(calls=2), _tasks(1)[0], tools=tools))

    asyncio.run(main())


class _Unavailable(EpisodeError):
    """The failure that the kit's model has."""


class _FailingModel(EchoModel):
    """Fails in its second reply."""

    failed = False

    async def complete(self, request: ChatRequest) -> Reply:
        if any(message.role == "assistant" for message in request.messages):
            self.failed = True
            raise _Unavailable("model", "the kit's model is not available")
        return await super().complete(request)


def _failing_model(subject: Subject) -> None:
    async def main() -> None:
        model = _FailingModel(calls=2)
        try:
            await _episode(subject, subject.make(), model, _tasks(1)[0])
        except EpisodeError:
            return
        subject.require(
            not model.failed,
            "its attempt goes on when the model fails, so that the failure would be graded as a wrong answer; "
            "let EpisodeError through",
        )

    asyncio.run(main())


class _FullModel(EchoModel):
    """Has no room for a second reply."""

    async def complete(self, request: ChatRequest) -> Reply:
        if any(message.role == "assistant" for message in request.messages):
            raise ContextOverflow("the kit's model holds one reply only")
        return await super().complete(request)


def _full_context(subject: Subject) -> None:
    async def main() -> None:
        try:
            _valid(subject, await _episode(subject, subject.make(), _FullModel(calls=2), _tasks(1)[0]))
        except EpisodeError as error:
            subject.fail(
                f"a full context (ContextOverflow) became {describe(error)}; let it through, it is a limit of the "
                "episode and no failure",
                error,
            )

    asyncio.run(main())


class _HangingModel(EchoModel):
    async def complete(self, request: ChatRequest) -> Reply:
        await asyncio.sleep(3_600)
        raise AssertionError


def _cancelled(subject: Subject) -> None:
    async def main() -> None:
        task = asyncio.create_task(_episode(subject, subject.make(), _HangingModel(), _tasks(1)[0]))
        await asyncio.sleep(0.05)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=5)
        subject.require(
            done and task.cancelled(), "attempt() does not end when it is cancelled; let CancelledError through"
        )
        left = asyncio.all_tasks() - {asyncio.current_task()}
        subject.require(not left, f"attempt() left {len(left)} asyncio tasks running when it was cancelled")

    asyncio.run(main())


def _stateless(subject: Subject) -> None:
    """Episodes that run alone, each with an agent of its own, come out as those that share one and run side by side."""
    tasks = _tasks(8)

    async def alone() -> list[Trajectory]:
        return [
            await _episode(subject, subject.make(), EchoModel(calls=2), task, sample=number)
            for number, task in enumerate(tasks)
        ]

    async def together() -> list[Trajectory]:
        agent: Agent = subject.make()
        model = EchoModel(calls=2, seed=5)
        work = (_episode(subject, agent, model, task, sample=number) for number, task in enumerate(tasks))
        return list(await asyncio.gather(*work))

    for one, other in zip(asyncio.run(alone()), asyncio.run(together()), strict=True):
        for field in ("outcome", "answer", "limit", "messages"):
            first, second = getattr(one, field), getattr(other, field)
            subject.require(
                first == second,
                f"an episode of {one.episode.task!r} that runs beside others has another {field!r} than one that runs "
                f"alone ({second!r:.200}, not {first!r:.200}); one agent serves many episodes at once, so keep nothing "
                "of an episode on it",
            )
