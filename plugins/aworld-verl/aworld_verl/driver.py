"""`python -m aworld_verl.driver`: the process that trains, started before there is a model.

It loads verl and starts Ray at once, then waits for one JSON line of settings on stdin and trains.
Events go to `--events-fd` as JSON lines: ready, step, done or error. The parent keeps stdin open for
as long as it wants the run: when it closes, everything that was started here ends.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

from aworld_cli.run.waiting import WaitingReport
from aworld_verl import prefork
from aworld_verl.events import emit, open_events, told_the_end
from aworld_verl.ray_host import Scratch, prepare_environment, start_guardian, start_ray, stop_ray
from aworld_verl.settings import SettingsError, parse_settings

_finished = threading.Event()


def main(argv: list[str] | None = None) -> int:
    """Returns 0 after `done` or when no settings came, 1 after `error`."""
    args = _arguments(argv)
    open_events(args.events_fd)
    scratch = Scratch.make(args.scratch)
    helpers = _Helpers(start_guardian(scratch))
    try:
        prepare_environment(scratch)
        report = WaitingReport(title="the training process", detailed=True)
        report.listen()
        return _serve(scratch, args, helpers, report)
    finally:
        _finished.set()
        helpers.close()
        scratch.remove()


def _serve(scratch: Scratch, args: argparse.Namespace, helpers: _Helpers, report: WaitingReport) -> int:
    try:
        inbox = _get_ready(scratch, args, helpers)
        emit("ready")
        line = inbox.get()
        if line is None:
            return 0
        settings = parse_settings(_object(line))
        if logs := settings.source_settings.get("logs"):
            report.logs = Path(logs)
        from aworld_verl.runner import train

        train(settings, scratch)
        return 0
    except BaseException as error:
        traceback.print_exc()
        emit("error", message=_one_line(error), mend=_mend(error))
        return 1


def _get_ready(scratch: Scratch, args: argparse.Namespace, helpers: _Helpers) -> queue.Queue[str | None]:
    """Import, fork the fork server, start Ray; the order matters (see `prefork`)."""
    if args.prefork:
        prefork.before_importing_ray()
    from aworld_verl.runner import load_everything, open_queue

    load_everything()
    command = None
    if args.prefork:
        prefork.after_importing_ray()
        socket = scratch.ray / "fork"
        helpers.fork_server, deaths = prefork.start(socket, close=[args.events_fd, helpers.lifeline])
        command = prefork.py_executable(socket)
        threading.Thread(target=_watch, args=(deaths,), daemon=True).start()
    inbox: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    start_ray(scratch, command)
    open_queue()
    return inbox


def _listen(inbox: queue.Queue[str | None]) -> None:
    """Pass the first line on; end the process at once when stdin closes before the run is over."""
    line = sys.stdin.readline()
    inbox.put(line or None)
    while sys.stdin.readline():
        pass
    if not _finished.is_set():
        # The parent is gone or gives up. The guardian takes everything down once we are dead.
        os._exit(0 if not line else 3)


def _watch(deaths: int) -> None:
    """End the process when a worker or the fork server is killed: verl would wait for it for ever."""
    with os.fdopen(deaths, "rb") as lines:
        line = lines.readline()
    if told_the_end.is_set() or _finished.is_set():
        return
    what = f"a worker was killed (signal {line.decode().strip()})" if line else "the server of its workers was killed"
    emit("error", message=f"{what}; the machine may be out of memory")
    os._exit(1)


def _object(line: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise SettingsError(f"the settings are not JSON: {error}") from error
    if not isinstance(data, dict):
        raise SettingsError("the settings are not a JSON object")
    return data


def _one_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    first = text[0] if text else ""
    if isinstance(error, SettingsError):
        return first
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _mend(error: BaseException) -> str:
    """Return what must be mended before another try, "recipe" where an exception in the chain of causes says so."""
    cause: BaseException | None = error
    while cause is not None:
        if mend := getattr(cause, "mend", ""):
            return str(mend)
        cause = cause.__cause__
    return ""


class _Helpers:
    """The processes that only this one may end."""

    def __init__(self, guardian: subprocess.Popen[bytes]) -> None:
        assert guardian.stdin is not None
        self._guardian = guardian
        self._stdin = guardian.stdin
        self.fork_server: int | None = None

    @property
    def lifeline(self) -> int:
        """The descriptor that tells the guardian of our end; no other process may keep it open."""
        return self._stdin.fileno()

    def close(self) -> None:
        """Stop Ray, then the fork server, then let the guardian clean up and wait for it."""
        try:
            stop_ray()
        finally:
            if self.fork_server is not None:
                prefork.stop(self.fork_server)
            self._stdin.close()
            self._guardian.wait(15.0)


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="aworld_verl.driver", description=__doc__)
    parser.add_argument("--events-fd", type=int, required=True, help="descriptor that takes the events")
    parser.add_argument("--scratch", help="directory for Ray's files (short path; default /tmp)")
    parser.add_argument("--no-prefork", dest="prefork", action="store_false", help="let Ray start plain workers")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
