"""A fork server: Ray's worker processes start as copies of a process that has imported verl.

Importing verl takes each process about six seconds of CPU and 500 MB. The driver imports it once,
forks this server while it still has a single thread, and Ray's `py_executable` is a small client
(`prefork_client`) that asks the server to fork. The copies share the imported pages.

Invariant: the server dies with the driver, and every worker with the server (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import runpy
import selectors
import shlex
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

_PR_SET_PDEATHSIG = 1
# The id of the first job of a new Ray.
JOB_ID = "01000000"


def before_importing_ray() -> None:
    """Call before anything imports `ray`, in the process that `start` will fork.

    Ray's C++ reads these two when it is loaded, that is before the fork, and a worker aborts
    without them. The pid is one to die with; the driver's serves as well as the raylet's.
    """
    if "ray" in sys.modules:
        raise RuntimeError("ray was imported too early")
    os.environ.update({"RAY_JOB_ID": JOB_ID, "RAY_RAYLET_PID": str(os.getpid())})


def after_importing_ray() -> None:
    """Take the variables away again, so that Ray's own processes do not see them."""
    for name in ("RAY_JOB_ID", "RAY_RAYLET_PID"):
        os.environ.pop(name, None)


def start(path: Path, close: list[int]) -> tuple[int, int]:
    """Fork the server, listening at `path`; the descriptors `close` are not kept.

    Returns:
        Its pid, and a descriptor from which comes a line on each worker that a signal killed without Ray's doing, and
        the end when the server itself is gone.

    Raises RuntimeError if this process has more than one thread: a copy would lack the others.
    """
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    if threads != 1:
        raise RuntimeError(f"cannot fork with {threads} threads")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(64)
    # Collect now and keep the collector off what is shared, or it would copy every page.
    gc.collect()
    gc.freeze()
    driver = os.getpid()
    deaths, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        _serve(driver, listener, [*close, deaths], report)
    listener.close()
    os.close(report)
    return pid, deaths


def _serve(driver: int, listener: socket.socket, close: list[int], report: int) -> NoReturn:
    """The server's life; whatever is raised, it never returns into the driver's code."""
    try:
        _die_with(driver)
        # Out of the driver's group: a Ctrl-C is for the driver, which then ends us.
        os.setsid()
        for fd in close:
            os.close(fd)
        _Server(listener, report).run()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def py_executable(path: Path) -> str:
    """The command that Ray puts before a worker's script and arguments."""
    client = Path(__file__).with_name("prefork_client.py")
    return shlex.join([sys.executable, "-I", "-S", str(client), str(path)])


def stop(pid: int) -> None:
    """End the server, and with it every worker that is left."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _die_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


class _Server:
    """One thread: takes requests, forks, passes exit statuses back."""

    def __init__(self, listener: socket.socket, report: int) -> None:
        self._listener = listener
        self._report = report
        self._selector = selectors.DefaultSelector()
        self._clients: dict[int, socket.socket] = {}

    def run(self) -> NoReturn:
        """Serve until killed."""
        self._selector.register(self._listener, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(timeout=0.2):
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._client_gone(key.data)
            self._reap()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        try:
            request, fds = _receive(client)
        except (OSError, ValueError):
            client.close()
            return
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(server, client, request, fds)
        for fd in fds:
            os.close(fd)
        self._clients[pid] = client
        self._selector.register(client, selectors.EVENT_READ, pid)

    def _become_worker(self, server: int, client: socket.socket, request: dict[str, Any], fds: list[int]) -> NoReturn:
        code = 1
        try:
            _die_with(server)
            # A group of its own, as Ray gives its workers: when one dies, Ray kills the group that it was in.
            os.setpgid(0, 0)
            os.close(self._report)
            self._selector.close()
            self._listener.close()
            client.close()
            for other in self._clients.values():
                other.close()
            for target, fd in enumerate(fds):
                os.dup2(fd, target)
                os.close(fd)
            code = _run_script(request)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _client_gone(self, pid: int) -> None:
        """Ray killed the client: it gave up on this worker."""
        os.kill(pid, signal.SIGKILL)
        self._forget(pid, None)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            if code < 0 and pid in self._clients:
                os.write(self._report, f"{-code}\n".encode())
            self._forget(pid, code)

    def _forget(self, pid: int, code: int | None) -> None:
        client = self._clients.pop(pid, None)
        if client is None:
            return
        self._selector.unregister(client)
        if code is not None:
            with contextlib.suppress(OSError):
                client.sendall((code & 0xFF).to_bytes(4, "big"))
        client.close()


def _receive(client: socket.socket) -> tuple[dict[str, Any], list[int]]:
    header, fds, _, _ = socket.recv_fds(client, 8, 3)
    length = int.from_bytes(header, "big")
    body = b""
    while len(body) < length:
        chunk = client.recv(length - len(body))
        if not chunk:
            raise ValueError("incomplete request")
        body += chunk
    data: dict[str, Any] = json.loads(body)
    return data, fds


def _run_script(request: dict[str, Any]) -> int:
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv = request["argv"]
    # Ray adds the script's directory, as Python does for a script on the command line.
    sys.path.insert(0, str(Path(sys.argv[0]).parent))
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
