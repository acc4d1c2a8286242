"""Short programs that look at something this process must not load. Each has a time limit and dies with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

_lock = Lock()
_running: set[subprocess.Popen[str]] = set()
_closed = False


class ProbeError(Exception):
    """A program gave no answer; the text is one line that says why."""


def run_program(command: Sequence[str], *, timeout: float = 10.0, env: Mapping[str, str] | None = None) -> str:
    """Run a program to its end and return what it wrote to its standard output.

    Args:
        timeout: seconds; then it and what it started are killed.
        env: variables beside this process's own.

    Raises:
        ProbeError: it cannot be started, fails or takes too long.
    """
    name = Path(command[0]).name
    process = _start(command, env or {})
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise ProbeError(f"{name} gave no answer within {timeout:g} s") from error
    finally:
        _kill(process)
        _running.discard(process)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if process.returncode:
        how = f"exit code {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        raise ProbeError(_last_line(err) or f"{name} failed ({how})")
    return out


def run_python(code: str, *, timeout: float = 60.0, env: Mapping[str, str] | None = None) -> Any:
    """Run Python code by this interpreter and return the JSON value that its last line of output holds.

    Raises:
        ProbeError: it raises, takes too long or prints no JSON; for an exception the text is its last line.
    """
    # -P: the user's files must not hide modules
    out = run_program([sys.executable, "-P", "-c", code], timeout=timeout, env=env)
    lines = out.strip().splitlines()
    try:
        return json.loads(lines[-1]) if lines else None
    except ValueError as error:
        raise ProbeError(f"its answer is no JSON: {lines[-1][:80]}") from error


def import_probe(*modules: str, timeout: float = 60.0) -> None:
    """Import modules in a process of its own. Raises ProbeError with what the import raised."""
    run_python("\n".join(f"import {module}" for module in modules), timeout=timeout)


def kill_probes(*, for_good: bool) -> None:
    """End what still runs; `for_good` for a program that ends: checks in other threads can then start no more."""
    global _closed
    with _lock:
        _closed = for_good
        for process in list(_running):
            _kill(process)


def _start(command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[str]:
    with _lock:  # whoever ends them all knows of this one
        if _closed:
            raise ProbeError("doctor is ending")
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                env={**os.environ, **env},
                start_new_session=True,
            )
        except OSError as error:
            raise ProbeError(f"{Path(command[0]).name} cannot be started: {error.strerror}") from error
        _running.add(process)
    return process


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a program that still runs, with all that it started."""
    if process.poll() is None:  # its number is its own as long as it is not waited for
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
