"""One episode as a person reads it: its turns, messages, tool calls, what they took, and the grade."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from aworld_cli.archive.overview import verdict
from aworld_cli.report.plain import Line, clean, clean_line
from aworld_cli.trajectory.sampled import sampled_messages

_MOST_LINES = 40
_MOST_CHARACTERS = 2_000


def transcript(record: Mapping[str, Any], *, full: bool) -> Iterator[Line]:
    """Yield the episode's lines; every text of a model, a tool or an environment is cleaned.

    Args:
        full: show long texts whole.
    """
    yield from _heading(record)
    yield from _conversation(record, full=full)
    if record.get("answer") is not None:
        yield Line()
        yield Line("answer", style="bold")
        yield from _block(str(record["answer"]), full=full)
    yield from _ending(record, full=full)


def _heading(record: Mapping[str, Any]) -> Iterator[Line]:
    turns = record.get("turns") or []
    calls = sum(turn.get("tool_calls", 0) for turn in turns)
    failed = sum(turn.get("tool_errors", 0) for turn in turns)
    tools = _count(calls, "tool call") + (f" ({failed} failed)" if failed else "")
    said = verdict(record)
    parts = [record["outcome"]] if said == record["outcome"] else [record["outcome"], said]
    parts += [_count(len(turns), "turn"), tools, f"{record.get('seconds', 0):g} s"]
    if record.get("attempts", 1) != 1:
        parts.append(f"{record['attempts']} attempts")
    yield Line(", ".join(parts))
    yield Line(f"model {clean_line(str(record.get('model') or '?'))}, seed {record.get('seed')}", style="dim")


def _conversation(record: Mapping[str, Any], *, full: bool) -> Iterator[Line]:
    turns = list(record.get("turns") or [])
    shown = 0
    messages = record.get("messages") or []
    for message, sampled in zip(messages, sampled_messages(record), strict=True):
        yield Line()
        if sampled and shown < len(turns):
            shown += 1
            yield Line(_turn(shown, turns[shown - 1]), style="dim")
        yield from _message(message, full=full)
    for number, turn in enumerate(turns[shown:], shown + 1):  # of another context, or its message is not on record
        yield Line(_turn(number, turn), style="dim")


def _turn(number: int, turn: Mapping[str, Any]) -> str:
    parts = [f"turn {number}", f"model {turn.get('model_seconds', 0):g} s"]
    prompt, completion = turn.get("prompt_tokens", 0), turn.get("completion_tokens", 0)
    if prompt or completion:
        parts.append(f"{prompt:,} + {completion:,} tokens")
    parts.append(f"stop {clean_line(str(turn.get('stop')))}")
    if turn.get("tool_calls"):
        failed = f", {turn['tool_errors']} failed" if turn.get("tool_errors") else ""
        parts.append(f"tools {turn.get('tool_seconds', 0):g} s{failed}")
    return "-- " + ", ".join(parts)


def _message(message: Mapping[str, Any], *, full: bool) -> Iterator[Line]:
    role = clean_line(str(message.get("role")))
    of = [clean_line(str(message[key])) for key in ("name", "tool_call_id") if message.get(key)]
    yield Line(" ".join([role, *of]), style="bold")
    content = str(message.get("content") or "")
    if content or not message.get("tool_calls"):
        yield from _block(content or "(empty)", full=full)
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield Line(f"calls {clean_line(str(function.get('name')))} {clean_line(str(call.get('id') or ''))}".rstrip(), 2)
        yield from _block(_arguments(function.get("arguments")), full=full, indent=4)


def _arguments(given: Any) -> str:
    """Return arguments as indented JSON where they are an object of several, else as they stand."""
    try:
        value = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return str(given)
    if isinstance(value, dict) and len(value) > 1:
        return json.dumps(value, ensure_ascii=False, indent=2)
    return json.dumps(value, ensure_ascii=False)


def _ending(record: Mapping[str, Any], *, full: bool) -> Iterator[Line]:
    if record.get("limit"):
        yield Line()
        yield Line(f"limit met: {clean_line(str(record['limit']))}", style="bold")
    grade = record.get("grade")
    if grade is not None:
        correct = {True: ", correct", False: ", not correct"}.get(grade.get("correct"), "")
        again = " (rescored)" if record.get("rescored") else ""
        yield Line()
        yield Line(f"grade: reward {grade.get('reward'):g}{correct}{again}", style="bold")
        for key, value in (grade.get("details") or {}).items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield from _block(f"{clean_line(str(key))}: {text}", full=full)
    error = record.get("error")
    if error is not None:
        yield Line()
        yield Line(f"error: {clean_line(str(error.get('kind')))}", style="bold")
        yield from _block(str(error.get("message")), full=full)
        if error.get("traceback"):
            yield from _block(str(error["traceback"]).rstrip(), full=True, indent=4)


def _block(text: str, *, full: bool, indent: int = 2) -> Iterator[Line]:
    text = clean(text).rstrip("\n")
    lines = text.split("\n")
    kept = text if full else "\n".join(lines[:_MOST_LINES])[:_MOST_CHARACTERS]
    yield Line(kept, indent)
    if len(kept) < len(text):
        yield Line(f"... {len(text) - len(kept):,} more characters (--full shows them)", indent, "dim")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
