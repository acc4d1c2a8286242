"""The built-in model `scripted`: the replies of the recipe, by turn, whoever asks and in whatever order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from aworld_cli.model.base import ChatRequest, ModelContext, Reply, SamplingParams
from aworld_cli.model.scripted import ScriptedConfig, scripted
from aworld_cli.trajectory.message import Message
from tests.conftest import Aworld

RECIPE = """\
aworld: 1
name: dry
model:
  kind: scripted
  replies: {replies}
tools: [{{kind: calculator}}]
environment: {{kind: arithmetic, digits: 1}}
agent: {{kind: react, max_turns: 2}}
stages:
  - eval: {{split: test, tasks: 3, samples: 2}}
"""


def say(replies: Sequence[Any], messages: Sequence[Message]) -> Reply:
    model = scripted(ScriptedConfig.model_validate({"replies": replies}), ModelContext(Path(), 0))
    request = ChatRequest(messages, (), SamplingParams(1.0, 1.0, 16, seed=3))
    return asyncio.run(model.complete(request))


def test_replies_come_by_turn_and_the_last_one_again() -> None:
    heard: list[Message] = [Message("system", "be brief"), Message("user", "hello there")]
    said = []
    for _ in range(4):
        reply = say(["one", "two and", "three"], heard)
        said.append(reply.message.content)
        heard += [reply.message, Message("user", "go on")]
    assert said == ["one", "two and", "three", "three"]
    reply = say(["two and"], heard[:2])
    assert (reply.stop, reply.prompt_tokens, reply.completion_tokens) == ("stop", 4, 2)


def test_calls_have_ids_of_their_own() -> None:
    call = {"tool": "search", "arguments": {"query": "x"}}
    first = say([call], [Message("user", "hello")])
    assert first.stop == "tool_calls"
    assert [(one.id, one.name, one.arguments) for one in first.message.tool_calls] == [
        ("call_0_0", "search", {"query": "x"})
    ]
    second = say(["x", [call, {"tool": "look"}]], [Message("user", "hello"), first.message])
    assert [(one.id, one.name) for one in second.message.tool_calls] == [("call_1_0", "search"), ("call_1_1", "look")]


@pytest.mark.parametrize(
    "replies",
    [[], [3], [[]], [{"tool": ""}], [{"tol": "search"}], [["text"]], [{"tool": "search", "args": {}}], "text"],
)
def test_other_replies_are_refused(replies: Any) -> None:
    with pytest.raises(ValidationError):
        ScriptedConfig.model_validate({"replies": replies})


def test_a_run_needs_nothing(aworld: Aworld, tmp_path: Path, no_strays: None) -> None:
    recipe = tmp_path / "dry.yaml"
    recipe.write_text(RECIPE.format(replies='[{tool: calculator, arguments: {expression: "6*7"}}, "I say 42"]'))
    done = aworld("run", recipe, "--json")
    assert done.returncode == 0, done.stderr
    (stage,) = json.loads(done.stdout)["stages"]
    assert stage["counts"]["selected"] == 6 and stage["counts"]["error"] == 0
    assert stage["metrics"]["tool_use"]["value"] == 1.0
    (journal,) = (tmp_path / "runs").glob("*/stages/*/trajectories.jsonl")
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    assert len(records) == 6
    for record in records:
        assert [message["role"] for message in record["messages"]] == ["user", "assistant", "tool", "assistant"]
        assert record["messages"][2]["content"] == "42" and record["answer"] == "I say 42"


def test_a_model_that_calls_tools_for_ever_reaches_the_limit(aworld: Aworld, tmp_path: Path) -> None:
    recipe = tmp_path / "dry.yaml"
    recipe.write_text(RECIPE.format(replies="[{tool: nobody}]"))
    done = aworld("run", recipe, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["stages"][0]["counts"]["limit"] == 6


def test_a_mistake_in_a_reply_is_shown_where_it_is(aworld: Aworld, tmp_path: Path) -> None:
    recipe = tmp_path / "dry.yaml"
    recipe.write_text(RECIPE.format(replies='\n    - "42"\n    - {tol: calculator}'))
    done = aworld("validate", recipe)
    assert done.returncode == 4
    assert "dry.yaml:7:8" in done.stderr and "did you mean 'tool'?" in done.stderr
