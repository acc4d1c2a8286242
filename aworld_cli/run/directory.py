"""A run's directory: made once, written by one process at a time, enough to go on from after a kill."""

from __future__ import annotations

import fcntl
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from aworld_cli.errors import MachineError, UsageError
from aworld_cli.trajectory.journal import finite

SCHEMA_VERSION = 1
_LOCK_SECONDS = 0.2


class RunDirectory:
    """Paths of a run, and its lock.

    Use `create` or `open`; both take the lock, which the process holds until `close` or its death.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    @classmethod
    def create(cls, parent: Path, name: str) -> RunDirectory:
        """Make `parent/<utc>-<name>` and lock it.

        Raises:
            MachineError: the directory cannot be made.
        """
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        for number in range(1, 1_000):
            path = parent / (f"{stamp}-{name}" if number == 1 else f"{stamp}-{name}-{number}")
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise MachineError(
                    f"{path}: cannot be made: {error.strerror}; choose another place with --runs-dir"
                ) from error
            run = cls(path)
            run._take_lock()
            return run
        raise MachineError(f"{parent}: too many runs called {stamp}-{name}")

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """Lock an existing run.

        Raises:
            UsageError: it is not a run directory, or another process writes it.
        """
        run = cls(path.resolve())
        if not run.lock_file.is_file():
            raise UsageError(f"{path}: not a run directory (it holds no lock.json)")
        run._take_lock()
        return run

    def _take_lock(self) -> None:
        try:
            lock = (self.path / ".lock").open("a")
        except OSError as error:
            raise MachineError(f"{self.path}: cannot be written: {error.strerror}") from error
        give_up = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if time.monotonic() < give_up:  # who lists runs holds it for an instant
                    time.sleep(0.02)
                    continue
                lock.close()
                text = f"{self.path}: another process is writing this run; wait for it, or stop it"
                raise UsageError(text) from error
            self._lock = lock
            return

    def check(self) -> None:
        """Check that the directory is still where it was: what is written to one that was removed is lost.

        Raises:
            MachineError: it was moved or removed.
        """
        if self._lock is None:
            return
        try:
            there = os.path.samestat(os.fstat(self._lock.fileno()), (self.path / ".lock").stat())
        except FileNotFoundError:
            there = False
        except OSError as error:
            raise MachineError(f"{self.path}: cannot be read: {error.strerror}") from error
        if not there:
            gone = MachineError(
                f"{self.path}: was moved or removed while the run wrote to it; what is there is not whole"
            )
            gone.resumable = False  # not by that path
            raise gone

    def close(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def lock_file(self) -> Path:
        """The resolved recipe with versions and seeds; secrets only as references."""
        return self.path / "lock.json"

    @property
    def logs(self) -> Path:
        """Where processes of this run write what they print."""
        return self.path / "logs"

    def make_logs(self) -> None:
        """Make the folder of logs, for all who write there. Raises MachineError."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise MachineError(f"{self.logs}: cannot be made: {error.strerror}") from error

    @property
    def summary_file(self) -> Path:
        """What the run came to."""
        return self.path / "summary.json"

    def stage(self, directory: str) -> Path:
        """The folder of one stage."""
        return self.path / "stages" / directory

    def checkpoint(self, stage: str) -> Path:
        """Where a stage that trains leaves its Hugging Face directory."""
        return self.path / "checkpoints" / stage / "hf"


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole or not at all.

    Raises:
        MachineError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(finite(value), file, indent=2, ensure_ascii=False, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise MachineError(f"{path}: cannot be written: {error.strerror}") from error


def read_json(path: Path) -> Any:
    """Read a JSON file that `write_json` wrote; None when it is not there.

    Raises:
        UsageError: it is damaged.
    """
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
