"""What the checks play with: tasks, a tool without a process, and models of both sorts that need nothing.

All of it is deterministic and light; a model's reply follows from the conversation alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from aworld_cli.environment.base import Task
from aworld_cli.model.base import ChatRequest, Generation, Reply, SamplingParams
from aworld_cli.tool.base import ToolResult, ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall
from aworld_cli.trajectory.record import Grade

LOOKUP = ToolSpec(
    "lookup",
    "Look a word up.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
)


class KitConfig(BaseModel):
    """The kit's environment has no options."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class KitEnvironment:
    """Sums of small numbers, in the splits `train` and `test`."""

    name = "conformance-kit"

    def splits(self) -> Sequence[str]:
        """See `Environment.splits`."""
        return ("train", "test")

    def tasks(self, split: str, limit: int | None) -> list[Task]:
        """See `Environment.tasks`; 64 of them."""
        first = 1 + ["train", "test"].index(split)
        made = [_task(2 * number + first, number + 2) for number in range(64)]
        return made[:limit]

    def grade(self, task: Task, answer: str | None, messages: Sequence[Message]) -> Grade:
        """Reward 1 when the answer ends with the sum."""
        correct = str(answer or "").split()[-1:] == [task.answer]
        return Grade(float(correct), correct)

    def corpus(self) -> Iterator[str]:
        """See `Environment.corpus`."""
        for task in self.tasks("train", None):
            yield from (task.messages[0].content, task.answer or "", LOOKUP.name, LOOKUP.description)


def _task(left: int, right: int) -> Task:
    return Task(f"{left}+{right}", (Message("user", f"What is {left} + {right} ?"),), str(left + right))


def kit_environment(config: KitConfig) -> KitEnvironment:
    """Make the environment."""
    return KitEnvironment()


class KitTools:
    """The tool `lookup`, as an episode's tool set: it gives the word back, or fails if it is to."""

    def __init__(self, *, fails: bool = False) -> None:
        self.specs = (LOOKUP,)
        self.fails = fails

    async def call(self, call: ToolCall) -> ToolResult:
        """See `ToolSet.call`."""
        if self.fails or call.name != LOOKUP.name or call.arguments is None:
            return ToolResult(f"{call.name} cannot be done", is_error=True)
        return ToolResult(f"found {call.arguments.get('word')}")


class EchoModel:
    """Looks the task up, then answers with what was found, as often as it is asked.

    Args:
        calls: how many replies call the tool before one answers; a tool-free request gets an answer at once.
        seed: draws how long each reply takes, so that episodes overtake each other; no pause if None.
    """

    name = "kit-echo"

    def __init__(self, *, calls: int = 1, seed: int | None = None) -> None:
        self.calls = calls
        self.seed = seed
        self.asked: list[int] = []  # the seeds of the replies, in their order

    async def start(self) -> None:
        """Nothing to get ready."""

    async def close(self) -> None:
        """Nothing to free."""

    async def complete(self, request: ChatRequest) -> Reply:
        """See `ChatModel.complete`."""
        await self.pause(request.params)
        message = self.said(request.messages, tools=bool(request.tools))
        return Reply(message, "tool_calls" if message.tool_calls else "stop", 1, 1)

    async def pause(self, params: SamplingParams) -> None:
        """Let other episodes go first."""
        import asyncio

        self.asked.append(params.seed)
        await asyncio.sleep(0 if self.seed is None else random.Random(f"{self.seed}/{params.seed}").random() / 100)

    def said(self, messages: Sequence[Message], *, tools: bool) -> Message:
        """Return the next assistant message of a conversation."""
        turn = sum(message.role == "assistant" for message in messages)
        asked = next((message.content for message in messages if message.role == "user"), "")
        if tools and turn < self.calls:
            call = ToolCall(f"call_{turn}_0", LOOKUP.name, {"word": asked})
            return Message("assistant", "", tool_calls=(call,))
        return Message("assistant", f"{messages[-1].content} so {asked} is 4")


class JsonCodec:
    """A codec whose tokens are bytes of JSON, a message a line, and 256 for the end of a turn."""

    end_id = 256
    end_ids = frozenset({256})

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[int]:
        """See `Codec.prompt`; the first byte says whether there are tools."""
        return [int(bool(tools)), *self._lines(messages)]

    def observation(self, messages: Sequence[Message], *, ended: bool) -> list[int]:
        """See `Codec.observation`."""
        return [*([] if ended else [256]), *self._lines(messages)]

    def parse(self, ids: Sequence[int], *, turn: int, tools: Sequence[ToolSpec] = ()) -> Message:
        """See `Codec.parse`."""
        return self.read(ids)[-1]

    def read(self, ids: Sequence[int]) -> list[Message]:
        """Return the messages that ids hold."""
        text = bytes(10 if one == 256 else one for one in ids).decode()
        return [Message.from_json(json.loads(line)) for line in text.splitlines() if line]

    def write(self, message: Message) -> list[int]:
        """Return the ids of a turn of the assistant."""
        return [*self._lines([message])[:-1], 256]

    def _lines(self, messages: Sequence[Message]) -> list[int]:
        return list("".join(json.dumps(message.to_json()) + "\n" for message in messages).encode())


class EchoTokenModel(EchoModel):
    """The same as a `TokenModel`."""

    name = "kit-echo-tokens"

    def __init__(self, *, calls: int = 1, seed: int | None = None) -> None:
        super().__init__(calls=calls, seed=seed)
        self.codec: Any = JsonCodec()

    complete: Any = None  # a `ChatModel` it is not

    async def generate(self, prompt_ids: list[int], params: SamplingParams, request_id: str) -> Generation:
        """See `TokenModel.generate`."""
        await self.pause(params)
        said = self.said(self.codec.read(prompt_ids[1:]), tools=bool(prompt_ids[0]))
        ids = self.codec.write(said)
        return Generation(ids, [-0.1] * len(ids), "stop")
