"""Run a program that dies with its parent, even when the parent is killed: `python -S guard.py PARENT COMMAND...`.

It stands alone (no imports beyond the standard library) because it is started by path, before anything else.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the signal was armed
        sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
