"""Text to token ids and back under a model's own chat template.

It needs only the checkpoint directory's `tokenizer.json` and chat template, read with the `tokenizers` library and
Jinja: a tenth of a second instead of the several that importing transformers takes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from aworld_cli.errors import MachineError
from aworld_cli.model.control import ControlTexts
from aworld_cli.model.template import ChatTemplate, named_token
from aworld_cli.model.tool_calls import TAGS, parse_assistant, parse_bare_call, render_tool_call, with_tool_prompt
from aworld_cli.tool.base import ToolSpec
from aworld_cli.trajectory.message import Message, ToolCall

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["Codec", "parse_assistant", "render_tool_call"]

_MARK = "(aworld turn)"  # stands for the assistant's text while a template is taken apart
_USER = {"role": "user", "content": "x"}
_BASE = [_USER, {"role": "assistant", "content": _MARK}]
_CACHED_LENGTH = 256  # characters of the longest text whose ids are kept


class Codec:
    """One model's tokens and chat template.

    The template is rendered once for a conversation's prompt; afterwards only what is new is encoded. What follows
    the assistant's text in the template (its end token, a line break) is found by rendering a marked dummy.

    The texts of messages and tools never become control tokens: `<|im_end|>` in a tool's result is encoded as the
    characters that it is. Control tokens are those that the tokenizer calls special; a template's own tags that are
    not (`<think>`, `<tool_response>`) are encoded as transformers does.

    Args:
        path: a Hugging Face checkpoint directory.

    Raises:
        MachineError: the directory holds no usable tokenizer or chat template.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tokenizer = _load_tokenizer(path)
        self.settings = _read_json(path / "tokenizer_config.json")
        self.template = ChatTemplate(path, self.settings)
        self._encode_short = lru_cache(maxsize=2_048)(self._encode)
        self._listed: tuple[list[ToolSpec], list[dict[str, Any]], bool] | None = None
        self.end_ids = frozenset(self._end_ids())

    # -- text -------------------------------------------------------------------------------------------------

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text` alone, special tokens written in it included."""
        return list(self._encode_short(text) if len(text) <= _CACHED_LENGTH else self._encode(text))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`, special tokens included."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=False))

    @property
    def knows_tools(self) -> bool:
        """Whether the chat template describes tools by itself and has them called in the form that we read."""
        return self._call_form == "hermes"

    # -- conversations ----------------------------------------------------------------------------------------

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> list[int]:
        """Return the ids of a conversation's opening, up to where the assistant starts to write."""
        if tools and not self.knows_tools:
            messages, tools = with_tool_prompt(messages, tools), ()
        values, listed, cut = self._values(messages, tools)
        return self._encode_cut(self.template.render(values, listed), cut)

    def observation(self, messages: Sequence[Message], *, ended: bool) -> list[int]:
        """Return the ids between two assistant turns: the rest of the one before, `messages`, the next one's start.

        Args:
            ended: whether the turn before already holds `end_id` (a reply cut at its length does not, nor one that
                ended with another of `end_ids`).
        """
        values, _, cut = self._values(messages)
        text = self._after_mark(self.template.render([*_BASE, *values]))
        if not ended:
            return self._encode_cut(text, cut)
        before, end, rest = text.partition(self._end_text)
        if not end or before.strip():
            return self._encode_cut(text, cut)
        return self._encode_after(end, rest, cut)

    def assistant(self, message: Message, *, ended: bool = True) -> list[int]:
        """Return the ids a teacher's turn would have been sampled as: what the template writes for it.

        Where the template does not write the turn whole (it drops tool calls, say), its text is encoded as it is.

        Args:
            ended: whether the turn ends with `end_id`; one that was cut at its length does not.
        """
        as_text = Message("assistant", message.content + "".join(map(render_tool_call, message.tool_calls)))
        ids = self._written(message) if self.knows_tools or not message.tool_calls else None
        if ids is None and message.tool_calls:
            ids = self._written(as_text)
        if ids is None:
            (value,), _, cut = self._values([as_text])
            ids = self._encode_cut(value["content"], cut)
        return [*ids, self.end_id] if ended else ids

    def parse(self, ids: Sequence[int], *, turn: int, tools: Sequence[ToolSpec] = ()) -> Message:
        """Return the message that sampled ids say; ids are never changed by what is understood of them.

        Args:
            tools: what the model was offered. One whose chat template has calls written as bare JSON (Llama 3) may
                do so, whatever it was told: a reply that is such a call to one of `tools`, as a whole, is read as it.
        """
        kept = list(ids[:-1]) if ids and ids[-1] in self.end_ids else list(ids)
        text = self.decode(kept)
        if tools and self._call_form == "bare":
            return parse_bare_call(text, turn, {tool.name for tool in tools}) or parse_assistant(text, turn)
        return parse_assistant(text, turn)

    # -- parts of the template --------------------------------------------------------------------------------

    @cached_property
    def end_id(self) -> int:
        """The token that ends an assistant's turn under the template."""
        found = self.tokenizer.token_to_id(self._end_text)
        if found is None:
            raise MachineError(f"{self.path}: the chat template ends a turn with {self._end_text!r}, not one token")
        return int(found)

    @cached_property
    def _end_text(self) -> str:
        after = self._after_mark(self.template.render(_BASE, generate=False)).lstrip()
        added = [token.content for token in self.tokenizer.get_added_tokens_decoder().values()]
        for token in sorted(added, key=len, reverse=True):
            if token and after.startswith(token):
                return str(token)
        if self.template.eos_token:
            return self.template.eos_token
        raise MachineError(f"{self.path}: no end-of-turn token is found in the chat template")

    @cached_property
    def _call_form(self) -> Literal["hermes", "bare"] | None:
        """How the template writes tool calls, found by having it write one."""
        tool = ToolSpec("probe_tool", "A probe.", {"type": "object", "properties": {"x": {"type": "integer"}}})
        call = ToolCall("probe0000", tool.name, {"x": 1})
        try:
            text, _ = self._turn_text(Message("assistant", "", (call,)))
            listing = self.template.render([_USER], [tool.to_json()])
        except MachineError:
            return None
        if text is None or tool.name not in listing:
            return None
        if _same_calls(parse_assistant(text, 0).tool_calls, [call]):
            return "hermes"
        return "bare" if parse_bare_call(text, 0, {tool.name}) else None

    @cached_property
    def _opened(self) -> str:
        return self.template.render([_USER])

    def _after_mark(self, text: str) -> str:
        _, mark, after = text.partition(_MARK)
        if not mark:
            raise MachineError(f"{self.template.file}: the chat template leaves out what the assistant says")
        return after

    def _turn_text(self, message: Message) -> tuple[str | None, str]:
        """Return what the template writes between its generation prompt and the turn's end, and the mark of cuts."""
        (value,), _, cut = self._values([message])
        whole = self.template.render([_USER, value], generate=False)
        if not whole.startswith(self._opened):
            return None, cut
        text, end, _ = whole[len(self._opened) :].partition(self._end_text)
        return (text if end else None), cut

    def _written(self, message: Message) -> list[int] | None:
        """Return the ids of an assistant's turn as the template writes it; None where it does not write it whole."""
        try:
            text, cut = self._turn_text(message)
        except MachineError:
            return None
        if text is None:
            return None
        said = text.replace(cut, "") if cut else text
        if message.content.strip() not in said:
            return None
        if message.tool_calls and not _same_calls(parse_assistant(said, 0).tool_calls, message.tool_calls):
            return None
        return self._encode_after(self._opened, text, cut)

    def _end_ids(self) -> list[int]:
        eos = _read_json(self.path / "generation_config.json").get("eos_token_id")
        return [self.end_id, *([eos] if isinstance(eos, int) else eos or [])]

    # -- messages as templates want them, and their ids -------------------------------------------------------

    @cached_property
    def _control(self) -> ControlTexts:
        added = self.tokenizer.get_added_tokens_decoder().values()
        named = {
            self._end_text,
            *(named_token(self.settings, name) for name in ("bos_token", "eos_token", "pad_token")),
        }
        return ControlTexts({t.content for t in added if t.special or t.content in named} - {*TAGS})

    def _values(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] = ()
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None, str]:
        """Return messages and tools for the template, and the mark of the cuts made in their control tokens, if any.

        Only where a text holds the text of a control token is anything cut: the encoding of others must not change.
        """
        values = [self.template.message(message) for message in messages]
        listed, forged = self._list(tools) if tools else (None, False)
        for value in values:
            if self._control.within(value) if "tool_calls" in value else self._control.within_texts(value.values()):
                forged = True
        if not forged:
            return values, listed, ""
        (values, listed), mark = self._control.cut([values, listed])
        return values, listed, mark

    def _list(self, tools: Sequence[ToolSpec]) -> tuple[list[dict[str, Any]], bool]:
        """Return tools for the template, and whether they hold a control token; a run offers the same ones always."""
        if self._listed is None or self._listed[0] != [*tools]:
            listed = [tool.to_json() for tool in tools]
            self._listed = ([*tools], listed, self._control.within(listed))
        return self._listed[1:]

    def _encode_cut(self, text: str, mark: str) -> list[int]:
        """Return the ids of the pieces of `text` between its cuts."""
        return [i for piece in text.split(mark) for i in self.encode(piece)] if mark else self.encode(text)

    def _encode_after(self, before: str, text: str, mark: str) -> list[int]:
        """Return the ids of `text` as they are after `before`; of `text` alone where tokens span the two.

        Some tokenizers encode the start of a text unlike what follows a control token.
        """
        start, ids = self.encode(before), self._encode_cut(before + text, mark)
        return ids[len(start) :] if ids[: len(start)] == start else self._encode_cut(text, mark)

    def _encode(self, text: str) -> list[int]:
        try:
            ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        except TypeError:  # half of a surrogate pair, as JSON may hold it, is no character
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def _same_calls(some: Sequence[ToolCall], others: Sequence[ToolCall]) -> bool:
    return [(call.name, call.arguments) for call in some] == [(call.name, call.arguments) for call in others]


def _load_tokenizer(path: Path) -> Tokenizer:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MachineError("the package `tokenizers` is missing: pip install 'aworld-cli[tokens]'") from error
    file = path / "tokenizer.json"
    if not file.is_file():
        raise MachineError(f"{path}: not a Hugging Face checkpoint directory (it holds no tokenizer.json)")
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:
        raise MachineError(f"{file}: not a tokenizer: {error}") from error


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise MachineError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise MachineError(f"{path}: not a JSON object")
    return value
