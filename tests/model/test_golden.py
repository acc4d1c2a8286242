"""Templates in the styles of known models: the codec's ids are those of transformers' own `apply_chat_template`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aworld_cli.errors import MachineError
from aworld_cli.model.codec import Codec
from aworld_cli.model.tool_calls import with_tool_prompt
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall

MakeCodec = Callable[..., Codec]
FAMILIES = ("qwen2.5", "qwen3", "llama3.1", "mistral", "smollm2", "generation")
HERMES = ("qwen2.5", "qwen3")
TOOL = ToolSpec("add", "Add two numbers \u2013 <b>fast</b>.", {"type": "object", "properties": {"a": {}, "b": {}}})
texts = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(["Hello there", " Hello\n", "\nHello", ""])
texts = texts.filter(lambda text: "<|" not in text and "[" not in text and "<" not in text)


@cache
def reference(path: Path) -> Any:
    """Return transformers' tokenizer of a checkpoint."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import PreTrainedTokenizerFast
    config = json.loads((path / "tokenizer_config.json").read_text())
    return PreTrainedTokenizerFast(tokenizer_file=str(path / "tokenizer.json"), **config)


def whole(
    codec: Codec, messages: Sequence[Message], tools: Sequence[ToolSpec] = (), *, generate: bool = True
) -> list[int]:
    """Return the ids that transformers gives the conversation."""
    values = [message.to_json() for message in messages]
    for value in values:
        for call in value.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    ids: list[int] = reference(codec.path).apply_chat_template(
        values,
        tools=[tool.to_json() for tool in tools] or None,
        add_generation_prompt=generate,
        return_dict=False,
        date_string="26 Jul 2024",  # Llama's
    )
    return ids


@pytest.fixture(scope="module", params=FAMILIES)
def merging(request: pytest.FixtureRequest, make_codec: MakeCodec) -> Codec:
    """A codec whose tokens may span a template's text and a message's."""
    return make_codec(request.param, merges=True)


@pytest.fixture(scope="module", params=FAMILIES)
def bytewise(request: pytest.FixtureRequest, make_codec: MakeCodec) -> Codec:
    """A codec of single bytes, which span nothing: turns encoded one by one must give the whole."""
    return make_codec(request.param)


def of(codec: Codec, *names: str) -> bool:
    return any(codec.path.name.startswith(name) for name in names)


def call(codec: Codec, text: str) -> Message:
    content = "" if of(codec, "llama3.1", "mistral") else text
    return Message("assistant", content, (ToolCall("abc123DEF", "add", {"a": text, "b": [1, None]}),))


@settings(max_examples=60, deadline=None)
@given(system=st.none() | texts, question=texts, thought=texts, result=texts, tools=st.booleans())
def test_a_prompt_is_what_transformers_makes_of_it(
    merging: Codec, system: str | None, question: str, thought: str, result: str, tools: bool
) -> None:
    codec = merging
    offered = [TOOL] if tools else []
    opening = [*([] if system is None else [Message("system", system)]), Message("user", question)]
    talk = [call(codec, thought), Message("tool", result, tool_call_id="abc123DEF", name="add")]
    for messages in (opening, [*opening, *talk], [*opening, Message("assistant", result), Message("user", thought)]):
        if codec.knows_tools:
            expected = whole(codec, messages, offered)
        else:
            expected = whole(codec, with_tool_prompt(messages, offered) if tools else messages)
        assert codec.prompt(messages, offered) == expected


@settings(max_examples=60, deadline=None)
@given(question=texts, thought=texts, results=st.lists(texts, min_size=1, max_size=2), answer=texts)
def test_turns_encoded_one_by_one_are_the_whole_conversation(
    bytewise: Codec, question: str, thought: str, results: list[str], answer: str
) -> None:
    codec = bytewise
    opening = [Message("system", "Be brief."), Message("user", question)]
    said = call(codec, thought) if of(codec, "qwen2.5") else Message("assistant", thought)
    seen = [Message("tool", result, tool_call_id="abc123DEF", name="add") for result in results]
    if of(codec, "mistral"):
        opening = opening[1:]  # its system message moves on to the newest question
        seen = [Message("user", results[0])]
    ids = codec.prompt(opening, [])
    if of(codec, "qwen3"):  # the template forgets the thoughts of turns before the newest question
        seen = [Message("user", results[0])]
        assert codec.assistant(said)[:-1] == codec.encode(f"<think>\n\n</think>\n\n{thought.lstrip(chr(10))}")
        ids += [*codec.encode(thought), codec.end_id]
    else:
        ids += codec.assistant(said)
    ids += codec.observation(seen, ended=True)
    assert ids == whole(codec, [*opening, said, *seen])
    ids += codec.assistant(Message("assistant", answer))
    finished = whole(codec, [*opening, said, *seen, Message("assistant", answer)], generate=False)
    assert finished[: len(ids)] == ids
    assert codec.decode(finished[len(ids) :]) in ("", "\n")


@settings(max_examples=60, deadline=None)
@given(texts)
def test_a_teachers_call_is_what_the_template_renders(bytewise: Codec, thought: str) -> None:
    codec, said = bytewise, call(bytewise, thought)
    ids = codec.assistant(said)
    opening = [Message("user", "x")]
    assert codec.knows_tools == of(codec, *HERMES)
    if codec.knows_tools:
        finished = whole(codec, [*opening, said], generate=False)
        assert [*whole(codec, opening), *ids, *codec.encode("\n")] == finished
        assert "<tool_call>\n{" in codec.decode(ids) and "\n</tool_call><|im_end|>" in codec.decode(ids)
    (parsed,) = codec.parse(ids, turn=0).tool_calls
    assert (parsed.name, parsed.arguments) == ("add", {"a": thought, "b": [1, None]})
    assert ids[-1] == codec.end_id and codec.end_id not in codec.assistant(said, ended=False)


def test_ids_of_calls_that_mistral_refuses_are_shortened(make_codec: MakeCodec) -> None:
    codec = make_codec("mistral")
    seen = [Message("tool", "3", tool_call_id="call_0_0", name="add")]
    text = codec.decode(codec.observation(seen, ended=True))
    assert text.startswith("[TOOL_RESULTS] {") and text == codec.decode(codec.observation(seen, ended=True))
    said = Message("assistant", "", (ToolCall("call_0_0", "add", {}),))
    assert codec.decode(codec.prompt([Message("user", "u"), said, *seen], [])).count(text[-26:-17]) == 2
    with pytest.raises(MachineError, match=r"tokenizer_config\.json: .* roles must alternate"):
        codec.prompt([Message("user", "u"), Message("user", "u")], [])
