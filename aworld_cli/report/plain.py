"""Text of models and tools made fit to be shown: nothing in it can steer a terminal, or is read as markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

# ECMA-48: CSI sequences, strings (OSC, DCS, SOS, PM, APC) up to their terminator, and the other escape sequences; each
# also in its 8-bit form.
_SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
# Other control characters, lone surrogates, and what turns the direction of writing or is not seen at all.
_INVISIBLE = "\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
_CONTROLS = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff{_INVISIBLE}]")
_NOT_IN_JSON = re.compile(rf"[\x7f-\x9f\ud800-\udfff{_INVISIBLE}]")


def clean(text: str) -> str:
    r"""Return a text without escape sequences, its other control characters written out (`\x07`); lines stay lines."""
    text = _SEQUENCES.sub("", text.replace("\r\n", "\n"))
    return _CONTROLS.sub(_written_out, text).expandtabs(4)


def clean_line(text: str) -> str:
    """Return a text as one line that can be shown."""
    return clean(" ".join(text.split()))


def safe_json(value: Any) -> str:
    """Return JSON on one line in which every character that could steer a terminal is escaped; it reads back equal."""
    text = json.dumps(value, ensure_ascii=False)
    return _NOT_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


@dataclass(frozen=True, slots=True)
class Line:
    """A text to show, cleaned already; it is folded at the right edge, each part indented."""

    text: str = ""
    indent: int = 0
    style: str = ""


def folded(lines: Iterable[Line], console: Console) -> Iterator[Text]:
    """Yield what fits the console's width, without blanks at the ends of lines."""
    for line in lines:
        indent = min(line.indent, console.width // 4)
        width = max(console.width - indent, 8)
        for part in line.text.split("\n"):
            for piece in Text(part, style=line.style).wrap(console, width, overflow="fold"):
                piece.rstrip()
                yield Text(" " * indent).append_text(piece)
