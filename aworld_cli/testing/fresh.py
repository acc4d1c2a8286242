"""Asks a fresh interpreter (see `probe`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from aworld_cli.testing.check import fail

_PROBE = Path(__file__).with_name("probe.py")


def ask(job: dict[str, Any], *, seconds: float = 60, **environment: str) -> tuple[dict[str, Any], str]:
    """Return the answer to a job, and what was printed to stdout meanwhile.

    Raises:
        Failed: the interpreter failed; the text ends with what it said.
    """
    __tracebackhide__ = True
    path = os.pathsep.join(entry for entry in sys.path if entry)
    with tempfile.TemporaryDirectory() as name:
        given, wanted = Path(name, "job.json"), Path(name, "answer.json")
        given.write_text(json.dumps(job, default=str))
        try:
            done = subprocess.run(
                [sys.executable, "-P", str(_PROBE), str(given), str(wanted)],
                env={**os.environ, "PYTHONPATH": path, **environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            fail(f"a fresh Python did not finish within {seconds:g} s; find what waits at import")
        if not wanted.is_file():
            said = done.stderr.decode(errors="replace").strip()[-2_000:]
            fail(f"a fresh Python failed (exit code {done.returncode}):\n{said}")
        answer: dict[str, Any] = json.loads(wanted.read_text())
        return answer, done.stdout.decode(errors="replace")
