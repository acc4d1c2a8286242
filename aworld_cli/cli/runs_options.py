"""What the commands of `aworld runs` share: their options, and how a run is found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from aworld_cli.cli import output
from aworld_cli.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aworld_cli.archive.store import StoredRun
    from aworld_cli.report.plain import Line

RUN_HELP = "A run: its directory, its name or the beginning of it, `latest`, or -1, -2, ... counted from the newest."


class RunCommand(typer.core.TyperCommand):
    """Takes `-1` as the newest run, not as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `click.Command.parse_args`."""
        rest: list[str] = super().parse_args(ctx, [_counted(argument) for argument in args])
        return rest


def _counted(argument: str) -> str:
    found = re.fullmatch(r"-([1-9]\d{0,5})", argument)
    return f"latest~{int(found[1]) - 1}" if found else argument


RunArgument = Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP, show_default=False)]
RunsDir = Annotated[
    Path | None, typer.Option("--runs-dir", help="Where runs are. [env: AWORLD_RUNS_DIR; default: runs]")
]
Json = Annotated[bool, typer.Option("--json", help="Write one JSON object.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")]
StageOption = Annotated[str | None, typer.Option("--stage", metavar="NAME", help="Only this stage.")]
Original = Annotated[bool, typer.Option("--original", help="Use the run's own grades, not those of a rescore.")]


def runs_directory(given: Path | None) -> Path:
    """Return where runs are: the flag, AWORLD_RUNS_DIR, the user's config, or `runs`."""
    from aworld_cli.settings.base import load_settings

    return load_settings(runs_dir=given).runs_dir


def find(text: str, runs_dir: Path | None) -> Path:
    """Return the directory of the run that a person names. Raises UsageError."""
    from aworld_cli.archive.finding import find_run

    return find_run(text, runs_directory(runs_dir))


def open_run(text: str, runs_dir: Path | None) -> StoredRun:
    """Find and read a run. Raises UsageError."""
    from aworld_cli.archive.store import read_run

    return read_run(find(text, runs_dir))


def print_json(value: Any) -> None:
    """Write one JSON object on a line; nothing in it can steer a terminal."""
    from aworld_cli.report.plain import safe_json

    output.result(safe_json(value))


def print_lines(lines: Iterable[Line]) -> None:
    """Write lines to stdout, folded at the width of the terminal."""
    from aworld_cli.report.plain import folded

    console = output.console(stderr=False)
    for text in folded(lines, console):
        console.print(text, soft_wrap=True)


def near(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?`, or nothing where no word is near."""
    text = did_you_mean(word, known)
    return text if "did you mean" in text else ""
