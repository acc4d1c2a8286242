"""Keeping the control tokens of a template apart from text that merely looks like them.

A template puts messages into text, and the tokenizer reads `<|im_end|>` as a control token wherever it stands: a tool's
result that holds it would end its own turn and forge the next one. Such text is cut within the template's input, and
the pieces are encoded one by one. All other text is encoded with the template's around it, as transformers does.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from typing import Any


class ControlTexts:
    """Finds the texts of control tokens in values for a template, and cuts them.

    Args:
        texts: what the tokenizer reads as control tokens. One of a single character cannot be cut, and is left.
    """

    def __init__(self, texts: Collection[str]) -> None:
        longest_first = sorted((text for text in texts if len(text) > 1), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def within(self, value: Any) -> bool:
        """Return whether a text in `value` (texts, dicts, lists, and anything else) holds a control token."""
        return any(map(self._pattern.search, _texts(value)))

    def within_texts(self, texts: Collection[str]) -> bool:
        """Return whether one of `texts` holds a control token."""
        return any(map(self._pattern.search, texts))

    def cut(self, value: Any) -> tuple[Any, str]:
        """Return `value` with a mark after the first character of each control token, and the mark.

        The mark occurs nowhere else in `value`, no JSON encoder changes it, and no start of it is also its end.
        """
        texts = {*_texts(value)}
        marks = (f"(cut {number})" for number in itertools.count())
        mark = next(mark for mark in marks if not any(mark in text for text in texts))
        return self._cut(value, mark), mark

    def _cut(self, value: Any, mark: str) -> Any:
        if isinstance(value, dict):
            return {self._cut(key, mark): self._cut(item, mark) for key, item in value.items()}
        if isinstance(value, list):
            return [self._cut(item, mark) for item in value]
        while isinstance(value, str) and self._pattern.search(value):
            value = self._pattern.sub(lambda match: match[0][0] + mark + match[0][1:], value)
        return value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from itertools.chain.from_iterable(map(_texts, value))
        yield from itertools.chain.from_iterable(map(_texts, value.values()))
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(map(_texts, value))
