"""The only place that prints: results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


def result(text: str) -> None:
    """Write a line of the result."""
    print(text, file=sys.stdout, flush=True)


def result_json(value: Any) -> None:
    """Write the result as one JSON line."""
    print(json.dumps(value, ensure_ascii=False), file=sys.stdout, flush=True)


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
