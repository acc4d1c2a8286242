"""A policy made at run time: an ordinary checkpoint, the same from the same seed, whose tokens lose nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer

from aworld_arithmetic.environment import ArithmeticConfig, arithmetic
from aworld_cli.model.codec import Codec, render_tool_call
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory import Message, ToolCall
from aworld_local.policy import create_policy

TOOLS = (
    ToolSpec("calculator", "Works out an expression.", {"type": "object", "properties": {"expression": {}}}),
    ToolSpec("search", "Finds \u201cthings\u201d.", {"type": "object"}),
)
# Text in a message must not look like one of the tokens that mark roles: what it then means is the template's affair.
texts = st.text(st.characters(codec="utf-8"), max_size=30).filter(lambda text: "<|" not in text)
arguments = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), st.integers() | texts, max_size=2)
calls = st.builds(lambda given: ToolCall("call_0_0", "calculator", given), arguments)


def digest(path: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(path.iterdir())}


def make(path: Path, seed: int) -> Path:
    corpus = arithmetic(ArithmeticConfig()).corpus()
    create_policy(path, seed=seed, corpus=corpus, hidden=32, layers=2, heads=2, vocabulary=400)
    return path


def test_equal_seeds_give_equal_files(policy: Path, tmp_path: Path) -> None:
    state = torch.random.get_rng_state()
    assert digest(make(tmp_path / "same", 0)) == digest(policy)
    other = digest(make(tmp_path / "other", 1))
    assert {name for name, sha in other.items() if sha != digest(policy)[name]} == {"model.safetensors"}
    assert torch.equal(state, torch.random.get_rng_state()), "the caller's random numbers are left alone"


def test_it_replaces_what_was_there_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf" / "stale").touch()
    make(tmp_path / "hf", 0)
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]
    assert not (tmp_path / "hf" / "stale").exists()


def test_transformers_loads_it_as_it_is(policy: Path) -> None:
    model: Any = AutoModelForCausalLM.from_pretrained(policy)
    tokenizer = AutoTokenizer.from_pretrained(policy)
    assert model.dtype == torch.float32
    assert model.lm_head.weight is not model.model.embed_tokens.weight
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id == Codec(policy).end_id
    assert model.config.vocab_size == len(tokenizer)


def test_an_episode_is_short(policy: Path) -> None:
    codec = Codec(policy)
    prompt = codec.prompt([Message("user", "347+581=")], TOOLS[:1])
    call = codec.assistant(Message("assistant", "", (ToolCall("x", "calculator", {"expression": "347+581"}),)))
    seen = codec.observation([Message("tool", "928", name="calculator")], ended=True)
    answer = codec.assistant(Message("assistant", "928"))
    assert [len(part) for part in (prompt, call, seen, answer)] == [13, 10, 6, 4]


@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(codec="utf-8"), max_size=60))
def test_every_text_comes_back_unchanged(policy: Path, text: str) -> None:
    codec = _codec(policy)
    assert codec.decode(codec.encode(text)) == text


@settings(max_examples=200, deadline=None)
@given(
    system=st.none() | texts,
    question=texts,
    rounds=st.lists(st.tuples(st.lists(calls, min_size=1, max_size=2), texts), max_size=2),
    tools=st.integers(0, 2),
    answer=texts,
)
def test_ids_grown_turn_by_turn_are_those_of_the_whole_conversation(
    policy: Path,
    system: str | None,
    question: str,
    rounds: list[tuple[list[ToolCall], str]],
    tools: int,
    answer: str,
) -> None:
    codec, tokenizer = _codec(policy), _tokenizer(policy)
    messages = [*([Message("system", system)] if system is not None else []), Message("user", question)]
    ids = codec.prompt(messages, TOOLS[:tools])
    assert ids == _whole(tokenizer, messages, TOOLS[:tools])
    for asked, result in rounds:
        messages.append(Message("assistant", "", tuple(asked)))
        ids += codec.assistant(messages[-1])
        results = [Message("tool", result, tool_call_id=call.id, name=call.name) for call in asked]
        ids += codec.observation(results, ended=True)
        messages += results
        assert ids == _whole(tokenizer, messages, TOOLS[:tools])
    ids += codec.assistant(Message("assistant", answer))
    assert codec.decode(ids).endswith(f"{answer}<|end|>")


def test_a_call_is_rendered_as_it_is_sampled(policy: Path) -> None:
    codec = _codec(policy)
    call = ToolCall("call_0_0", "calculator", {"expression": 'a"\u00e9\n'})
    assert codec.parse(codec.assistant(Message("assistant", "", (call,))), turn=0).tool_calls[0].arguments == (
        call.arguments
    )
    text = codec.decode(_whole(_tokenizer(policy), [Message("user", "x"), Message("assistant", "", (call,))], ()))
    assert render_tool_call(call) in text


_cache: dict[tuple[str, Path], Any] = {}


def _codec(path: Path) -> Codec:
    made: Codec = _cache.setdefault(("codec", path), Codec(path))
    return made


def _tokenizer(path: Path) -> Any:
    if ("tokenizer", path) not in _cache:
        _cache["tokenizer", path] = AutoTokenizer.from_pretrained(path)
    return _cache["tokenizer", path]


def _whole(tokenizer: Any, messages: list[Message], tools: tuple[ToolSpec, ...]) -> list[int]:
    """Return what transformers makes of the conversation in one go."""
    plain = []
    for message in messages:
        value: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.tool_calls:
            functions = [{"name": call.name, "arguments": call.arguments} for call in message.tool_calls]
            value["tool_calls"] = [{"type": "function", "function": function} for function in functions]
        plain.append(value)
    ids: list[int] = tokenizer.apply_chat_template(
        plain,
        tools=[tool.to_json() for tool in tools] or None,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=False,
    )
    return ids


@pytest.mark.parametrize("text", ["</a>", "1/2", "a<|end|>b"])
def test_odd_texts(policy: Path, text: str) -> None:
    codec = _codec(policy)
    assert codec.decode(codec.encode(text)) == text
