"""Conversations with the two sorts of model, behind one face.

`TokenSession` owns the rule that training depends on: the ids of a conversation only ever grow. Sampled ids are kept as
they are, new messages are appended by encoding them alone under the chat template, nothing is decoded and encoded
again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aworld_cli import underway
from aworld_cli.model.base import (
    ChatModel,
    ChatRequest,
    Model,
    ModelSession,
    Reply,
    SamplingParams,
    TokenModel,
)
from aworld_cli.seeds import derive_seed
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message
from aworld_cli.trajectory.record import TokenSequence

if TYPE_CHECKING:
    from aworld_cli.model.codec import Codec
    from aworld_cli.recipe.schema import Sampling


@dataclass(frozen=True, slots=True)
class Opening:
    """How a conversation starts: its first messages, its tools, how replies are sampled, and the episode's seed."""

    messages: Sequence[Message]
    tools: Sequence[ToolSpec]
    sampling: Sampling
    seed: int
    request_id: str

    def params(self, turn: int, max_tokens: int | None = None) -> SamplingParams:
        """Return the sampling of one turn; its seed depends on the episode and the turn alone.

        Args:
            max_tokens: a bound on the reply that holds beside the recipe's own.
        """
        most = self.sampling.max_tokens
        return SamplingParams(
            temperature=self.sampling.temperature,
            top_p=self.sampling.top_p,
            max_tokens=most if max_tokens is None else min(most, max_tokens),
            seed=derive_seed(self.seed, "turn", turn),
        )


def open_session(model: Model, opening: Opening, codec: Codec | None = None) -> ModelSession:
    """Open a conversation; `codec` records the tokens that a chat model's text has under another model's template."""
    if isinstance(model, TokenModel):
        return TokenSession(model, opening)
    if isinstance(model, ChatModel):
        return ChatSession(model, opening, codec)
    raise TypeError(f"{type(model).__name__} is neither a TokenModel nor a ChatModel")


class TokenSession:
    """A conversation with a model that samples token ids."""

    def __init__(self, model: TokenModel, opening: Opening) -> None:
        self.model = model
        self.opening = opening
        self.messages = list(opening.messages)
        self._sequence = TokenSequence(model.codec.prompt(opening.messages, opening.tools))
        self._pending: list[Message] = []
        self._ended = True

    @property
    def sequences(self) -> list[TokenSequence]:
        return [self._sequence]

    async def reply(self, *, turn: int, allow_tools: bool = True, max_tokens: int | None = None) -> Reply:
        if self._pending and not self._sequence.response_ids:  # the opening is not answered yet: this is part of it
            self._sequence = TokenSequence(self.model.codec.prompt(self.messages, self.opening.tools))
            self._pending = []
        sequence, shown = self._sequence, list[int]()
        if self._pending:
            shown = self.model.codec.observation(self._pending, ended=self._ended)
        prompt = sequence.ids + shown
        with underway.phase("the model", turn=turn):
            made = await self.model.generate(prompt, self.opening.params(turn, max_tokens), self.opening.request_id)
        sequence.extend(shown, sampled=False)  # only now: a reply that does not come leaves no trace
        sequence.extend(made.ids, sampled=True, logprobs=made.logprobs)
        self._pending = []
        # Another of `end_ids` (a general end of text, say) ends the reply, but not the turn as the template has it.
        self._ended = made.ids[-1:] == [self.model.codec.end_id]
        message = self.model.codec.parse(made.ids, turn=turn, tools=self.opening.tools if allow_tools else ())
        if not allow_tools:
            message = replace(message, tool_calls=())
        self.messages.append(message)
        stop = "tool_calls" if message.tool_calls else made.stop
        return Reply(message, stop, prompt_tokens=len(prompt), completion_tokens=len(made.ids))

    def observe(self, messages: Sequence[Message]) -> None:
        self.messages += messages
        self._pending += messages


class ChatSession:
    """A conversation with a model that takes and gives text.

    With a codec, each reply is also recorded as the tokens that it has under the codec's chat template, without
    log-probabilities: demonstrations for a policy to learn from.
    """

    def __init__(self, model: ChatModel, opening: Opening, codec: Codec | None) -> None:
        self.model = model
        self.opening = opening
        self.codec = codec
        self.messages = list(opening.messages)
        self._pending: list[Message] = []
        self._ended = True
        self._sequence: TokenSequence | None = None
        if codec is not None:
            self._sequence = TokenSequence(codec.prompt(opening.messages, opening.tools), logprobs=None)

    @property
    def sequences(self) -> list[TokenSequence]:
        return [self._sequence] if self._sequence is not None else []

    async def reply(self, *, turn: int, allow_tools: bool = True, max_tokens: int | None = None) -> Reply:
        tools = self.opening.tools if allow_tools else ()
        with underway.phase("the model", turn=turn):
            request = ChatRequest(self.messages, tools, self.opening.params(turn, max_tokens))
            reply = await self.model.complete(request)
        if not allow_tools and reply.message.tool_calls:
            reply = replace(reply, message=replace(reply.message, tool_calls=()))
        self._record(reply)
        self.messages.append(reply.message)
        return reply

    def _record(self, reply: Reply) -> None:
        if self.codec is None or self._sequence is None:
            return
        if self._pending and not self._sequence.response_ids:  # the opening was not answered yet: this is part of it
            opening = self.codec.prompt(self.messages, self.opening.tools)
            self._sequence = TokenSequence(opening, logprobs=None)
            self._pending = []
        if self._pending:
            self._sequence.extend(self.codec.observation(self._pending, ended=self._ended), sampled=False)
            self._pending = []
        self._ended = reply.stop not in ("length", "abort")  # a reply that was cut did not say that it is done
        self._sequence.extend(self.codec.assistant(reply.message, ended=self._ended), sampled=True)

    def observe(self, messages: Sequence[Message]) -> None:
        self.messages += messages
        self._pending += messages
