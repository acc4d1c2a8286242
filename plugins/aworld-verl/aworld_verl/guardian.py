"""Outlives the driver by a moment: kills what it started and removes its scratch directories.

Run as a script with `python -I -S`. It waits until its stdin closes, which
the kernel does for a driver that ends in any way, SIGKILL included.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path


def _belongs(process: Path, marker: bytes, directories: list[str]) -> bool:
    """True if the process was started with `marker` in its environment, or has our files open.

    The second is for those that write their title over their environment, as Ray's agents do.
    """
    with contextlib.suppress(OSError):
        if marker in (process / "environ").read_bytes().split(b"\0"):
            return True
        return any(str(fd.readlink()).startswith(tuple(directories)) for fd in (process / "fd").iterdir())
    return False


def marked(marker: str, directories: list[str]) -> list[int]:
    """Return the processes of the run, except for this one and a driver that still lives."""
    spared = {os.getpid(), os.getppid()}
    processes = [path for path in Path("/proc").iterdir() if path.name.isdigit() and int(path.name) not in spared]
    return [int(path.name) for path in processes if _belongs(path, marker.encode(), directories)]


def sweep(marker: str, directories: list[str], rounds: int = 50) -> None:
    """SIGKILL the run's processes until none is left (a dying one may still have started another)."""
    for _ in range(rounds):
        pids = marked(marker, directories)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def main(marker: str, directories: list[str]) -> None:
    """Wait for the driver's end, then clean up after it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while os.read(0, 4096):
        pass
    sweep(marker, directories)
    import shutil

    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
