"""How long a stage has run, over all the processes that worked on it."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

_WRITE_SECONDS = 1.0


class StageClock:
    """Counts a stage's seconds and keeps them on disk, so that a resumed stage goes on from where it was killed.

    Args:
        folder: the stage's directory, two levels below the run's.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / ".seconds"
        self._run = folder.parent.parent
        self._before = 0.0
        with contextlib.suppress(OSError, ValueError):
            self._before = float(self._file.read_text())
        self._began = time.monotonic()
        self._written = self._began

    @property
    def seconds(self) -> float:
        """Seconds so far, those of earlier processes included."""
        return self._before + time.monotonic() - self._began

    def tick(self, *, force: bool = False) -> None:
        """Write the seconds down, at most once a second; a figure that cannot be written is not worth a failure."""
        now = time.monotonic()
        if not force and now - self._written < _WRITE_SECONDS:
            return
        self._written = now
        with contextlib.suppress(OSError):
            if not self._run.is_dir():  # removed under us: nothing is to be left in its place
                return
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(f"{self.seconds:.3f}\n")
