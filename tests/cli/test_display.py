"""What is shown while a run goes on, on a terminal and off it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Aworld


def run_on_terminal(arguments: list[str], cwd: Path, columns: int) -> tuple[int, str]:
    """Run the command line with its standard error on a terminal; return the exit code and what it showed."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
    process = subprocess.Popen(
        [sys.executable, "-m", "aworld_cli", *arguments],
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            block = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        shown += block
    os.close(ours)
    return process.wait(), shown.decode(errors="replace")


def test_a_terminal_gets_a_live_bar_and_lines_that_stay(teacher_recipe: Callable[..., Path], tmp_path: Path) -> None:
    for columns in (40, 160):
        code, shown = run_on_terminal(["run", str(teacher_recipe(tasks=200))], tmp_path, columns)
        assert code == 0
        assert "\x1b[" in shown and "/400" in shown.replace("\r\n", "")
        assert "eval done in" in shown.replace("\r\n", "")


def test_off_a_terminal_there_is_no_control_character(aworld: Aworld, teacher_recipe: Callable[..., Path]) -> None:
    done = aworld("run", teacher_recipe())
    assert "\x1b" not in done.stderr and "\r" not in done.stderr
    assert "rollout: rollout of 8 episodes begins" in done.stderr
