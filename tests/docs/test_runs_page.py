"""docs/runs.md names every command, option and field; one that is new must be written down there."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer.main

from aworld_cli.archive.listing import STATUSES
from aworld_cli.cli.runs import app
from aworld_cli.run.summary import StageSummary
from aworld_cli.trajectory import EpisodeId, Grade, Message, TokenSequence, ToolCall, Trajectory, Turn
from aworld_cli.trajectory.export import FLAT_COLUMNS, chat_rows, token_rows

TEXT = (Path(__file__).parents[2] / "docs/runs.md").read_text(encoding="utf-8")
COMMANDS: dict[str, Any] = typer.main.get_group(app).commands  # type: ignore[assignment]
EPISODE = EpisodeId("t", "h", 0)


def table(after: str) -> set[str]:
    """Return the names in the first column of the first table after a text."""
    rows = re.findall(
        r"^\|(.*?)\|", TEXT[TEXT.index(after) :].partition("\n| ---")[2].partition("\n\n")[0], re.MULTILINE
    )
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def record() -> dict[str, Any]:
    """Return a record that has every part."""
    call = ToolCall("c", "f", {"x": 1})
    return Trajectory(
        EPISODE,
        "answered",
        "m",
        0,
        grade=Grade(1.0, True),
        messages=[Message("assistant", "", (call,), tool_call_id="c", name="n")],
        sequences=[TokenSequence([1], [2], [1], [0.0])],
        turns=[Turn(0.0)],
        extra={"a": 1},
    ).to_json()


@pytest.mark.parametrize(
    ("after", "kind", "key"),
    [
        ("## The fields of a record", Trajectory, None),
        ("`episode`: what makes", EpisodeId, "episode"),
        ("`grade`:", Grade, "grade"),
        ("`turns`: one model call", Turn, "turns"),
        ("`sequences`: one uninterrupted", TokenSequence, "sequences"),
    ],
)
def test_every_field_of_a_record(after: str, kind: Any, key: str | None) -> None:
    value = record() if key is None else record()[key]
    written = set(value[0] if isinstance(value, list) else value)
    assert table(after) == written
    assert {field.name for field in fields(kind)} <= written


def test_every_field_of_a_message() -> None:
    message = record()["messages"][0]
    (paragraph,) = re.findall(r"^`messages`: .*?\n\n", TEXT, re.MULTILINE | re.DOTALL)
    names = {*message, *message["tool_calls"][0], "arguments"}
    assert names == set(re.findall(r"`([^`]+)`", paragraph)) - {"messages"}


def test_every_field_of_a_stages_summary() -> None:
    assert table("## The fields of a stage's summary") == {field.name for field in fields(StageSummary)}


def test_every_column_of_an_export() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXT.partition("### Columns")[2].partition("### Keys")[0], re.M))
    assert rows == FLAT_COLUMNS
    chat = list(chat_rows(record(), run="r", stage="s", tools=[{}]))
    assert table("### Keys of `sft`") == set(chat[0])
    assert table("### Keys of `tokens`") == set(next(token_rows(record(), run="r", stage="s")))


def test_every_status() -> None:
    assert table("| status | meaning |") == set(STATUSES)


def test_every_command_and_option() -> None:
    for name, command in COMMANDS.items():
        assert f"`aworld runs {name}`" in TEXT, name
        section = TEXT.partition(f"`aworld runs {name}`\n")[2].partition("\n## ")[0] + TEXT.partition("## Which run")[2]
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in section or option in ("--help", "--runs-dir"), (
                    name,
                    option,
                )


def test_the_examples_are_commands_that_there_are() -> None:
    lines = re.findall(r"^\$ aworld runs ?(\w*)(.*)$", TEXT, re.MULTILINE)
    assert {name or "list" for name, _ in lines} == set(COMMANDS)
    for name, rest in lines:
        known = {option for parameter in COMMANDS[name or "list"].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, name
