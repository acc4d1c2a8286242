"""A checkpoint's chat template: found, compiled and rendered as transformers does, without importing it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from aworld_cli.errors import MachineError
from aworld_cli.trajectory.message import Message, ToolCall

if TYPE_CHECKING:
    from jinja2 import Template

#: What `strftime_now` says in a template, whatever the day: the same recipe and seed must give the same tokens
#: tomorrow. It is the day that the templates of Llama 3 fall back on. Who needs the date says it in a message.
TODAY = datetime(2024, 7, 26)


class ChatTemplate:
    """A chat template, and the special tokens that it may name.

    Args:
        path: a Hugging Face checkpoint directory.
        settings: its `tokenizer_config.json`.

    Raises:
        MachineError: there is no template, or it is not valid.
    """

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        from jinja2 import TemplateError

        self.file, source = _find(path, settings)
        self.bos_token, self.eos_token = named_token(settings, "bos_token"), named_token(settings, "eos_token")
        # The templates of Mistral refuse ids of tool calls that are not nine letters or digits.
        self._short_ids = "length != 9" in source
        self._failures = (TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
        try:
            self._template = _compile(source)
        except TemplateError as error:
            raise MachineError(f"{self.file}: the chat template is not valid: {error}") from error

    def render(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]] | None = None,
        *,
        generate: bool = True,
    ) -> str:
        """Return the conversation's text, `generate` with the start of the assistant's turn.

        Raises:
            MachineError: the template refuses the conversation, or fails.
        """
        try:
            return self._template.render(
                messages=messages,
                tools=tools,
                documents=None,
                add_generation_prompt=generate,
                bos_token=self.bos_token,
                eos_token=self.eos_token,
            )
        except self._failures as error:
            raise MachineError(f"{self.file}: the chat template refuses this conversation: {error}") from error

    def message(self, message: Message) -> dict[str, Any]:
        """Return a message as templates take it: the OpenAI form, but with arguments as objects."""
        value: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.name is not None:
            value["name"] = message.name
        if message.tool_call_id is not None:
            value["tool_call_id"] = self._call_id(message.tool_call_id)
        if message.tool_calls:
            value["tool_calls"] = [self._call(call) for call in message.tool_calls]
        return value

    def _call(self, call: ToolCall) -> dict[str, Any]:
        identity = {"id": self._call_id(call.id)} if call.id else {}
        return {"type": "function", **identity, "function": {"name": call.name, "arguments": call.arguments or {}}}

    def _call_id(self, given: str) -> str:
        if not self._short_ids or (len(given) == 9 and given.isalnum()):
            return given
        return hashlib.blake2s(given.encode(errors="replace")).hexdigest()[:9]


def named_token(settings: dict[str, Any], name: str) -> str:
    """Return a special token's text from `tokenizer_config.json`, empty where there is none."""
    value = settings.get(name) or ""
    return str(value.get("content", "")) if isinstance(value, dict) else str(value)


def _find(path: Path, settings: dict[str, Any]) -> tuple[Path, str]:
    file = path / "chat_template.jinja"
    if file.is_file():
        return file, file.read_text(encoding="utf-8")
    source = settings.get("chat_template")
    if isinstance(source, list):  # several named templates
        named = {item.get("name"): item.get("template") for item in source}
        source = named.get("tool_use") or named.get("default")
    if not isinstance(source, str):
        raise MachineError(f"{path}: the tokenizer has no chat template")
    return path / "tokenizer_config.json", source


@lru_cache(maxsize=32)
def _compile(source: str) -> Template:
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks what the assistant wrote, which our sessions know without it: it does nothing."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Parser) -> nodes.Node:
            line = next(parser.stream).lineno
            return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=line)

    def refuse(message: str) -> NoReturn:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = TODAY.strftime
    return environment.from_string(source)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
