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
    from rich.console import Console

#: What JSON lets stand as it is, and a terminal may obey or cannot write: 8-bit controls, lone surrogates, bidi marks.
_STEERING = re.compile("[\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def result(text: str) -> None:
    """Write a line of the result. Raises MachineError when it cannot be written (a full disk)."""
    try:
        print(text, file=sys.stdout, flush=True)
    except BrokenPipeError:  # whoever read it has had enough
        raise
    except OSError as error:
        with contextlib.suppress(OSError):  # what waits in the buffer is lost, and must not fail once more at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise MachineError(f"the result cannot be written to standard output: {error.strerror}") from error


def result_json(value: Any) -> None:
    """Write the result as one JSON line (see `result`) in which nothing can steer a terminal; it reads back equal."""
    text = json.dumps(value, ensure_ascii=False)
    result(_STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def say(text: str) -> None:
    """Tell whoever watches."""
    print(text, file=sys.stderr, flush=True)


def error(text: str) -> None:
    """Tell what went wrong, a line each."""
    for line in text.splitlines() or [text]:
        print(f"error: {line}", file=sys.stderr, flush=True)


def warning(text: str) -> None:
    """Tell what may go wrong."""
    print(f"warning: {text}", file=sys.stderr, flush=True)


def console(*, stderr: bool) -> Console:
    """Return a rich console; off a terminal it writes plain text, 120 columns wide unless COLUMNS says otherwise."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else 120
    return Console(file=stream, width=width, highlight=False)
