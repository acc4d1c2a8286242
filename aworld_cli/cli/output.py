"""The only place that prints: results go to stdout, everything else to stderr."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from aworld_cli.errors import MachineError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

#: What JSON lets stand as it is, and a terminal may obey or cannot write: 8-bit controls, lone surrogates, bidi marks.
_STEERING = re.compile("[\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_CONTROLS = re.compile(f"[\0-\x08\x0b-\x1f{_STEERING.pattern[1:]}")


def result(text: str) -> None:
    """Write a line of the result. Raises MachineError when it cannot be written (a full disk)."""
    with _writing_results():
        print(_writable(text), file=sys.stdout, flush=True)


def _writable(text: str) -> str:
    """Return a text with an escape for what standard output's encoding cannot say (LC_ALL=C, an odd file name)."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


@contextlib.contextmanager
def _writing_results() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # whoever read it has had enough
        raise
    except OSError as error:
        with contextlib.suppress(OSError):  # what waits in the buffer is lost, and must not fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise MachineError(f"the result cannot be written to standard output: {error.strerror}") from error


class _Results:
    """Standard output as a console writes to it; it fails as `result` does."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> None:
        with _writing_results():
            self._stream.write(_writable(text))

    def flush(self) -> None:
        with _writing_results():
            self._stream.flush()


def result_json(value: Any) -> None:
    """Write the result as one JSON line (see `result`) in which nothing can steer a terminal; it reads back equal."""
    text = json.dumps(value, ensure_ascii=_writable("é") != "é")
    result(_STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def say(text: str) -> None:
    """Tell whoever watches."""
    print(text, file=sys.stderr, flush=True)


def error(text: str) -> None:
    """Tell what went wrong, a line each."""
    for line in text.splitlines() or [text]:
        print(f"error: {_harmless(line)}", file=sys.stderr, flush=True)


def warning(text: str) -> None:
    """Tell what may go wrong."""
    print(f"warning: {_harmless(text)}", file=sys.stderr, flush=True)


def _harmless(text: str) -> str:
    """Return a text in which nothing steers a terminal: it may be a plugin's, or a recipe's."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def console(*, stderr: bool) -> Console:
    """Return a rich console; off a terminal it writes plain text, 120 columns wide unless COLUMNS says otherwise.

    Printing to standard output raises MachineError when it cannot be written.
    """
    from rich.console import Console

    stream: Any = sys.stderr if stderr else _Results(sys.stdout)
    width = None if stream.isatty() or os.environ.get("COLUMNS") else 120
    return Console(file=stream, width=width, highlight=False)
