"""Token bookkeeping: ids only grow, the mask covers exactly what was sampled, decoding gives the transcript."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aworld_cli.errors import MachineError
from aworld_cli.model.base import Generation, SamplingParams
from aworld_cli.model.codec import Codec, parse_assistant, render_tool_call
from aworld_cli.model.session import Opening, TokenSession
from aworld_cli.recipe.schema import Sampling
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Like Qwen's: a default system message, tool results of one turn inside one user turn.
QWEN_LIKE = (
    "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are helpful.<|im_end|>\n{% endif %}"
    "{% if tools %}<|im_start|>system\n{% for t in tools %}{{ t | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}"
    "{% for m in messages %}{% if m.role == 'tool' %}"
    "{% if loop.first or messages[loop.index0 - 1].role != 'tool' %}<|im_start|>user{% endif %}"
    "\n<tool_response>\n{{ m.content }}\n</tool_response>"
    "{% if loop.last or messages[loop.index0 + 1].role != 'tool' %}<|im_end|>\n{% endif %}"
    "{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOL = ToolSpec("add", "Add two numbers.", {"type": "object", "properties": {"a": {"type": "integer"}}})


@pytest.fixture(scope="module", params=[CHATML, QWEN_LIKE], ids=["chatml", "qwen-like"])
def codec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Codec:
    return make_codec(tmp_path_factory.mktemp("tokenizer"), request.param)


def make_codec(path: Path, template: str) -> Codec:
    """A tokenizer of single bytes and two special tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|im_start|>"), AddedToken("<|im_end|>")])
    tokenizer.save(str(path / "tokenizer.json"))
    settings = {"chat_template": template, "eos_token": "<|im_end|>"}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    return Codec(path)


class Parrot:
    """Samples the texts that it is given, one a turn; a text that ends in `…` is cut before its end token."""

    name = "parrot"

    def __init__(self, codec: Codec, texts: list[str]) -> None:
        self.codec = codec
        self.texts = texts
        self.prompts: list[list[int]] = []

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def generate(self, prompt_ids: list[int], params: SamplingParams, request_id: str) -> Generation:
        text = self.texts[len(self.prompts)]
        self.prompts.append(prompt_ids)
        ids = self.codec.encode(text)
        if not text.endswith("…"):
            ids.append(self.codec.end_id)
        return Generation(ids, [-0.5] * len(ids), "stop")


def converse(
    codec: Codec, opening: list[Message], turns: list[tuple[str, list[Message]]]
) -> tuple[TokenSession, Parrot]:
    parrot = Parrot(codec, [text for text, _ in turns])
    session = TokenSession(parrot, Opening(opening, [TOOL], Sampling(), 1, "r"))

    async def main() -> None:
        for number, (_, observed) in enumerate(turns):
            await session.reply(turn=number)
            session.observe(observed)

    asyncio.run(main())
    return session, parrot


plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<|>…"), max_size=12).map(str.strip)
observations = st.lists(
    plain.map(lambda text: Message("tool", text, tool_call_id="x", name="add"))
    | plain.map(lambda t: Message("user", t)),
    min_size=1,
    max_size=2,
)


@given(st.lists(st.tuples(plain, observations), min_size=1, max_size=4))
def test_tokens_of_any_conversation(codec: Codec, turns: list[tuple[str, list[Message]]]) -> None:
    opening = [Message("system", "s"), Message("user", "u")]
    session, parrot = converse(codec, opening, turns)
    sequence = session.sequences[0]
    assert len(sequence.response_ids) == len(sequence.loss_mask) == len(sequence.logprobs or [])
    for earlier, later in zip(parrot.prompts, parrot.prompts[1:], strict=False):
        assert later[: len(earlier)] == earlier  # ids only grow
    sampled = [i for i, m in zip(sequence.response_ids, sequence.loss_mask, strict=True) if m]
    assert sampled == [i for text, _ in turns for i in (*codec.encode(text), codec.end_id)]
    masked = zip(sequence.loss_mask, sequence.logprobs or [], strict=True)
    assert all(logprob == (-0.5 if mask else 0.0) for mask, logprob in masked)


@given(st.lists(st.tuples(plain, observations), min_size=1, max_size=4))
def test_incremental_encoding_equals_rendering_at_once(codec: Codec, turns: list[tuple[str, list[Message]]]) -> None:
    opening = [Message("system", "s"), Message("user", "u")]
    last_text, _ = turns[-1]
    session, parrot = converse(codec, opening, turns)
    conversation = list(opening)
    for text, observed in turns[:-1]:
        conversation += [Message("assistant", text), *observed]
    assert parrot.prompts[-1] == codec.prompt(conversation, [TOOL])
    assert codec.decode(session.sequences[0].ids).endswith(last_text + "<|im_end|>")


def test_a_cut_reply_gets_its_end_token_without_loss(codec: Codec) -> None:
    session, parrot = converse(codec, [Message("user", "u")], [("cut…", [Message("user", "go on")]), ("done", [])])
    sequence = session.sequences[0]
    at = len(codec.encode("cut…"))
    assert sequence.response_ids[at] == codec.end_id and sequence.loss_mask[at] == 0
    cut = [Message("user", "u"), Message("assistant", "cut…"), Message("user", "go on")]
    assert parrot.prompts[-1] == codec.prompt(cut, [TOOL])


def test_tools_are_described_even_where_the_template_does_not_know_them(codec: Codec) -> None:
    text = codec.decode(codec.prompt([Message("user", "u")], [TOOL]))
    assert "Add two numbers." in text


def test_a_teachers_turn_is_what_the_policy_would_have_sampled(codec: Codec) -> None:
    call = ToolCall("c", "add", {"a": 1})
    text = render_tool_call(call)
    assert codec.assistant(Message("assistant", "", (call,))) == [*codec.encode(text), codec.end_id]
    (parsed,) = codec.parse(codec.assistant(Message("assistant", "", (call,))), turn=0).tool_calls
    assert (parsed.name, parsed.arguments) == ("add", {"a": 1})


@pytest.mark.parametrize(
    ("text", "names", "arguments"),
    [
        ('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', ["add"], [{"a": 1}]),
        ('think\n<tool_call>\n{"name": "add", "arguments": "{\\"a\\": 1}"}\n</tool_call>', ["add"], [{"a": 1}]),
        ('<tool_call>{"name": "add", "parameters": {}}', ["add"], [{}]),
        ("<tool_call>oops</tool_call>", [""], [None]),
        (
            '<tool_call>{"name": "a", "arguments": [1]}</tool_call><tool_call>{"name": "b"}</tool_call>',
            ["a", "b"],
            [None, None],
        ),
        ("no call", [], []),
    ],
)
def test_tool_calls_are_read(text: str, names: list[str], arguments: list[object]) -> None:
    calls = parse_assistant(text, 0).tool_calls
    assert [call.name for call in calls] == names
    assert [call.arguments for call in calls] == arguments
    assert len({call.id for call in calls}) == len(calls)


def test_a_directory_that_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"holds no tokenizer\.json"):
        Codec(tmp_path)
