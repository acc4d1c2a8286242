"""Ray's `py_executable`: asks the fork server for a worker instead of starting a Python.

Run as `python -I -S prefork_client.py SOCKET script args...`. It hands over its arguments,
environment and standard streams, stays alive for as long as the worker, and ends with its status.
"""

import array
import json
import os
import socket
import sys


def main(path: str, argv: list[str]) -> int:
    """Returns the worker's exit status; 1 if the fork server is gone."""
    # Not pathlib: a worker's start waits for this process's imports.
    request = json.dumps({"argv": argv, "env": dict(os.environ), "cwd": os.getcwd()}).encode()  # noqa: PTH109
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.connect(path)
        fds = array.array("i", [0, 1, 2])
        header = len(request).to_bytes(8, "big")
        server.sendmsg([header], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        server.sendall(request)
        status = server.recv(4)
    return int.from_bytes(status, "big") if len(status) == 4 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
