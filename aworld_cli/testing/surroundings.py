"""Nothing stays behind a check: no process, no thread, no temporary file, nothing in the working directory.

Processes are found as descendants of this one, and by a mark in their environment, which also finds those whose parent
has died. What is left is ended, so that one failing check does not spoil the next.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

#: The environment variable that marks the processes of a check.
MARK = "AWORLD_CONFORMANCE"

_GRACE = 5.0  # seconds for what is ending already
_HARMLESS = ("__pycache__", ".pytest_cache", ".coverage")
_CACHES = ("torchinductor_",)  # a library's cache for all of the user's processes


class Surroundings:
    """What is there before a check and must be there after it, and nothing else: `enter`, then `leave`."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.here = Path.cwd()
        self.names = _names(self.here)
        self.threads = {thread.ident for thread in threading.enumerate()}
        self.processes = set(_descendants())
        self.folder = Path(tempfile.mkdtemp(prefix="aw-"))
        self._environment = {key: os.environ.get(key) for key in (MARK, "TMPDIR")}

    def enter(self) -> None:
        """Mark what is started from now on, and give temporary files a place of their own."""
        os.environ.update({MARK: self.mark, "TMPDIR": str(self.folder)})
        tempfile.tempdir = None  # it is looked up again

    def leave(self) -> list[str]:
        """Undo `enter` and end what is left; return what that was, with how to mend it."""
        for key, value in self._environment.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        tempfile.tempdir = None
        try:
            return [*self._strays(), *self._threads(), *self._files()]
        finally:
            self._end()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _started(self) -> list[psutil.Process]:
        found = {process.pid: process for process in _descendants() if process not in self.processes}
        found |= {process.pid: process for process in _marked(self.mark)}
        return [process for process in found.values() if _runs(process)]

    def _strays(self) -> list[str]:
        until = time.monotonic() + _GRACE
        while (left := self._started()) and time.monotonic() < until:
            time.sleep(0.05)
        return [
            f"the process {_describe(process)} is left running; closing must end all that was started, and what that "
            "started in turn (a process group of its own helps)"
            for process in left
        ]

    def _end(self) -> None:
        import psutil

        left = self._started()
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(left, timeout=_GRACE)
        for process in _descendants():  # children of ours that ended and that nobody waited for
            if process not in self.processes and not _runs(process):
                with contextlib.suppress(psutil.Error):
                    process.wait(timeout=0)

    def _threads(self) -> list[str]:
        until = time.monotonic() + _GRACE
        while (left := self._new_threads()) and time.monotonic() < until:
            time.sleep(0.05)
        return [f"the thread {one.name!r} is left running; join it when what started it is closed" for one in left]

    def _new_threads(self) -> list[threading.Thread]:
        return [one for one in threading.enumerate() if one.ident not in self.threads and not one.daemon]

    def _files(self) -> list[str]:
        found = [
            f"the temporary file {path.name!r} is left behind; remove it, or keep it in the run's directory"
            for path in self.folder.iterdir()
            if not path.name.startswith(_CACHES)
        ]
        return found + [
            f"{name!r} is left in the working directory; write into the run's directory, or a temporary one"
            for name in sorted(_names(self.here) - self.names)
        ]


def _descendants() -> list[psutil.Process]:
    import psutil

    return psutil.Process().children(recursive=True)


def _marked(mark: str) -> list[psutil.Process]:
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(MARK) == mark:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _runs(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _describe(process: psutil.Process) -> str:
    import psutil

    try:
        return f"{process.pid} ({' '.join(process.cmdline())[:200]})"
    except psutil.Error:
        return str(process.pid)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(_HARMLESS)}
