"""A reply that fails or is cancelled leaves no trace: the next one sees the tokens that the template would write."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from aworld_cli.model.base import Generation, SamplingParams
from aworld_cli.model.codec import Codec
from aworld_cli.model.session import Opening, TokenSession
from aworld_cli.recipe.schema import Sampling
from aworld_cli.trajectory.message import Message
from tests.model.test_tokens import CHATML, make_codec

ASKED = Message("user", "1+1")
FINAL = Message("user", "Answer now.")


class Once:
    """Hangs at the turns that it is told, and says "2" at others."""

    name = "once"

    def __init__(self, codec: Codec, hangs: set[int]) -> None:
        self.codec = codec
        self.hangs = hangs
        self.prompts: list[list[int]] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, prompt_ids: list[int], params: SamplingParams, request_id: str) -> Generation:
        turn = len(self.prompts)
        self.prompts.append(prompt_ids)
        if turn in self.hangs:
            await asyncio.sleep(60)
        ids = [*self.codec.encode("2"), self.codec.end_id]
        return Generation(ids, [-0.5] * len(ids), "stop")


@pytest.fixture(scope="module")
def codec(tmp_path_factory: pytest.TempPathFactory) -> Codec:
    return make_codec(tmp_path_factory.mktemp("interrupted"), CHATML)


def talk(codec: Codec, hangs: set[int], more: list[list[Message]]) -> tuple[Once, TokenSession]:
    model = Once(codec, hangs)
    session = TokenSession(model, Opening([ASKED], [], Sampling(), 7, "r"))

    async def main() -> None:
        for turn, messages in enumerate([[], *more]):
            if messages:
                session.observe(messages)
            try:
                async with asyncio.timeout(0.3):
                    await session.reply(turn=turn)
            except TimeoutError:
                assert turn in hangs

    asyncio.run(main())
    return model, session


def rendered(codec: Codec, messages: list[Message]) -> list[int]:
    return codec.prompt(messages, [])


def test_a_first_reply_that_is_cut_leaves_one_opening(codec: Codec) -> None:
    model, session = talk(codec, {0}, [[FINAL]])
    assert model.prompts[1] == rendered(codec, [ASKED, FINAL])
    (sequence,) = session.sequences
    assert sequence.prompt_ids == model.prompts[1]
    assert sequence.loss_mask == [1] * len(sequence.response_ids)


def test_a_later_reply_that_is_cut_leaves_one_observation(codec: Codec) -> None:
    result = Message("tool", "x", tool_call_id="c", name="add")
    cut, session = talk(codec, {1}, [[result], [FINAL]])
    whole, expected = talk(codec, set(), [[result, FINAL]])
    assert cut.prompts[2] == whole.prompts[1]
    assert session.sequences[0].to_json() == expected.sequences[0].to_json()
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "user", "assistant"]


def test_a_chat_models_tokens_under_a_template_are_as_clean(codec: Codec, tmp_path: Path) -> None:
    from aworld_cli.model.base import ChatRequest, Reply
    from aworld_cli.model.session import ChatSession

    class Chat(Once):
        async def complete(self, request: ChatRequest) -> Reply:
            await self.generate([], request.params, "")
            return Reply(Message("assistant", "2"), "stop")

    session = ChatSession(Chat(codec, {0}), Opening([ASKED], [], Sampling(), 7, "r"), codec)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await session.reply(turn=0)
        session.observe([FINAL])
        await session.reply(turn=1)

    asyncio.run(main())
    assert session.sequences[0].prompt_ids == rendered(codec, [ASKED, FINAL])
