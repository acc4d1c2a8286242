"""Models: start and stop clean, answer in form, and give equal replies to equal requests with equal seeds."""

from __future__ import annotations

import asyncio
import contextlib
import math
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from aworld_cli.environment.base import Environment
from aworld_cli.errors import AWorldError, EpisodeError, MachineError
from aworld_cli.host.registry import describe
from aworld_cli.model.base import ChatModel, HasCheckpoint, Model, ModelContext, Reply, Stop, TokenModel
from aworld_cli.model.session import Opening, open_session
from aworld_cli.recipe.schema import Sampling
from aworld_cli.testing.check import Check, Failed
from aworld_cli.testing.stage import LOOKUP, KitEnvironment
from aworld_cli.testing.subject import Subject
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import TokenSequence

_SAMPLING = Sampling(temperature=1.0, top_p=1.0, max_tokens=24)
_CLOSE_SECONDS = 30.0
_ODD = ("", "naïve 数 \N{BULLSEYE} <|im_end|></s>", "{}%s\\\n\t'\"")

#: What a conversation came to: what was said in each turn, and the error that ended it.
Said = list[tuple[Any, ...]]


def checks(subject: Subject) -> list[Check]:
    """Return the checks of a model."""
    before: list[Said] = []  # a start may take long, so what one check heard serves the next one
    return [
        subject.check("close needs no start", _close_alone),
        subject.check("starts, answers and stops", lambda subject: _answers(subject, before), seconds=300),
        subject.check("equal seeds give equal replies", lambda subject: _deterministic(subject, before), seconds=300),
        subject.check("leaves nothing when cancelled", _cancelled, seconds=300),
    ]


class _Rig:
    """A model as a run has it: `shared` is closed at the run's end."""

    def __init__(self, subject: Subject, run_dir: Path) -> None:
        __tracebackhide__ = True
        self.subject = subject
        self.environment = environment(subject)
        self.shared: dict[str, Any] = {}
        context = ModelContext(run_dir, seed=7, corpus=self.environment.corpus, shared=self.shared)
        self.model: Model = subject.make(context)

    async def start(self) -> None:
        __tracebackhide__ = True
        try:
            if isinstance(self.model, HasCheckpoint):
                self.model.check()
            await self.model.start()
        except MachineError as error:
            self.subject.skip(str(error))
        except (AWorldError, EpisodeError) as error:
            self.subject.fail(f"start() raised {describe(error)}; what this machine lacks is a MachineError", error)
        except Exception as error:
            self.subject.fail(f"start() raised {describe(error)}; raise MachineError with the remedy", error)

    async def close(self) -> None:
        __tracebackhide__ = True
        began = time.monotonic()
        try:
            await self.model.close()
            for value in self.shared.values():
                if hasattr(value, "close"):
                    await value.close()
        except Exception as error:
            self.subject.fail(f"close() raised {describe(error)}; it must not fail, whether start() ran or not", error)
        seconds = time.monotonic() - began
        self.subject.require(seconds < _CLOSE_SECONDS, f"close() took {seconds:.0f} s; end what is under way instead")


def environment(subject: Subject) -> Environment:
    """Return the plugin's own environment, whose tasks its model is for; the kit's where it has none."""
    for sibling in subject.siblings:
        if sibling.component.kind == "environment":
            with contextlib.suppress(Exception):
                made: Environment = sibling.make()
                return made
    return KitEnvironment()


@contextlib.asynccontextmanager
async def _started(subject: Subject, run_dir: Path) -> AsyncIterator[_Rig]:
    rig = _Rig(subject, run_dir)
    try:
        await rig.start()
        yield rig
    finally:
        await rig.close()


async def _converse(rig: _Rig, seed: int, opening: Sequence[Message] | None = None) -> Said:
    """Have a conversation of two turns, the second without tools; a failure that is no EpisodeError fails the check."""
    __tracebackhide__ = True
    subject, said = rig.subject, Said()
    if opening is None:
        opening = rig.environment.tasks(rig.environment.splits()[0], 1)[0].messages
    try:
        session = open_session(rig.model, Opening(opening, (LOOKUP,), _SAMPLING, seed, f"conformance-{seed}"))
        for turn in range(2):
            reply = await session.reply(turn=turn, allow_tools=turn == 0)
            _sound(subject, reply)
            message = reply.message
            calls = [(call.name, call.arguments) for call in message.tool_calls]
            said.append((message.content, calls, reply.stop))
            results = [Message("tool", "found 4", tool_call_id=one.id, name=one.name) for one in message.tool_calls]
            session.observe(results or [Message("user", "Give your final answer now.")])
    except (EpisodeError, AWorldError) as error:
        said.append((type(error).__name__, str(error)))
    except Failed:
        raise
    except Exception as error:
        subject.fail(f"a request raised {describe(error)}; what fails within an episode is an EpisodeError", error)
    else:
        for sequence in session.sequences:
            _sound_tokens(subject, sequence)
            said.append((sequence.prompt_ids, sequence.response_ids))
    return said


def _sound(subject: Subject, reply: Reply) -> None:
    subject.require(isinstance(reply, Reply), f"it answers with a {type(reply).__name__}, not a model.Reply")
    message = reply.message
    subject.require(message.role == "assistant", f"its reply has the role {message.role!r}, not 'assistant'")
    subject.require(isinstance(message.content, str), f"its reply says {message.content!r}, which is no text")
    subject.require(reply.stop in get_args(Stop), f"its reply stopped for {reply.stop!r}, not one of {get_args(Stop)}")
    counts = (reply.prompt_tokens, reply.completion_tokens)
    subject.require(min(counts) >= 0, f"its reply counts {counts} tokens")
    ids = [call.id for call in message.tool_calls]
    subject.require(len(set(ids)) == len(ids) and all(ids), f"its tool calls need ids of their own, not {ids}")


def _sound_tokens(subject: Subject, sequence: TokenSequence) -> None:
    ids, mask, logprobs = sequence.response_ids, sequence.loss_mask, sequence.logprobs
    subject.require(all(isinstance(one, int) for one in ids), "generate() gives ids that are not plain int")
    subject.require(
        logprobs is not None and len(logprobs) == len(ids), "generate() must give a log-probability for each id"
    )
    assert logprobs is not None
    bad = [
        value for value, one in zip(logprobs, mask, strict=True) if one and not (math.isfinite(value) and value < 1e-3)
    ]
    subject.require(not bad, f"generate() gives log-probabilities that are none: {bad[:3]}; they are at most 0, finite")
    most = 2 * _SAMPLING.max_tokens
    subject.require(sum(mask) <= most, f"generate() gives {sum(mask)} ids in two turns of max_tokens {most // 2}")


def _run(work: Callable[[Path], Awaitable[None]]) -> None:
    __tracebackhide__ = True
    with tempfile.TemporaryDirectory() as run_dir:
        asyncio.run(work(Path(run_dir)))  # type: ignore[arg-type]


def _close_alone(subject: Subject) -> None:
    async def main(run_dir: Path) -> None:
        await _Rig(subject, run_dir).close()

    _run(main)


def _answers(subject: Subject, before: list[Said]) -> None:
    async def main(run_dir: Path) -> None:
        async with _started(subject, run_dir) as rig:
            model = rig.model
            subject.require(
                isinstance(model, TokenModel | ChatModel),
                f"{type(model).__name__} is neither a TokenModel (codec, generate) nor a ChatModel (complete)",
            )
            before[:] = [await _converse(rig, 1)]
            for text in _ODD:
                await _converse(rig, 1, [Message("system", text), Message("user", text)])
            await _converse(rig, 1, [Message("user", "a"), Message("assistant", "b"), Message("user", "c")])
        await rig.close()  # once more does no harm

    _run(main)


def _deterministic(subject: Subject, before: list[Said]) -> None:
    async def main(run_dir: Path) -> None:
        async with _started(subject, run_dir) as rig:
            alone = await _converse(rig, 1)
            _same(subject, alone, await _converse(rig, 1), "asked twice")
            beside = await asyncio.gather(*(_converse(rig, seed) for seed in (2, 1, 3)))
            _same(subject, alone, beside[1], "asked alone and beside others")
        if not before:
            with tempfile.TemporaryDirectory() as other:
                async with _started(subject, Path(other)) as rig:
                    before.append(await _converse(rig, 1))
        _same(subject, alone, before[0], "asked in two runs")

    _run(main)


def _same(subject: Subject, one: Said, other: Said, when: str) -> None:
    __tracebackhide__ = True
    for first, second in zip(one, other, strict=False):
        subject.require(
            first == second,
            f"{when}, with one seed, it says {_short(first)} and {_short(second)}; everything random must derive from "
            "SamplingParams.seed, never from the order of requests",
        )
    subject.require(len(one) == len(other), f"{when}, with one seed, the conversations have not the same turns")


def _short(said: tuple[Any, ...]) -> str:
    text = repr(said)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _cancelled(subject: Subject) -> None:
    """Ctrl-C may come while a model starts, or while requests are under way, which must not harm the others."""

    async def main(run_dir: Path) -> None:
        rig = _Rig(subject, run_dir)
        await _interrupt(rig.start(), 0.05)
        await rig.close()
        async with _started(subject, run_dir) as rig:
            alone = await _converse(rig, 1)
            beside = asyncio.create_task(_converse(rig, 1))
            await _interrupt(_converse(rig, 2), 0.01)
            _same(subject, alone, await beside, "asked alone and beside a request that was cancelled")

    _run(main)


async def _interrupt(work: Any, seconds: float) -> None:
    task = asyncio.create_task(work)
    await asyncio.wait({task}, timeout=seconds)
    task.cancel()
    results: Iterable[Any] = await asyncio.gather(task, return_exceptions=True)
    for result in results:
        if isinstance(result, Failed):
            raise result
