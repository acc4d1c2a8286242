"""The fork server: copies run the script as a Python of its own would, and die with the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

_SERVER = """
import sys
from pathlib import Path
from aworld_verl import prefork
prefork.start(Path(sys.argv[1]), close=[])
print(prefork.py_executable(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def server(tmp_path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(tmp_path / "s")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def command(server: subprocess.Popen[str]) -> list[str]:
    assert server.stdout is not None
    return server.stdout.readline().split()


def end(server: subprocess.Popen[str]) -> None:
    server.kill()
    server.communicate()


def test_arguments_environment_streams_and_status_pass_through(server: subprocess.Popen[str], tmp_path: Path) -> None:
    script = tmp_path / "w.py"
    script.write_text("import os, sys\nprint(sys.argv[1:], os.environ['X'], sys.stdin.read())\nsys.exit(5)\n")
    done = subprocess.run(
        [*command(server), str(script), "--a=b", "c d"],
        env={**os.environ, "X": "1"}, input="in", capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    end(server)
    assert (done.returncode, done.stdout) == (5, "['--a=b', 'c d'] 1 in\n")


@pytest.mark.parametrize("victim", ["client", "driver"])
def test_a_worker_dies_with_its_client_and_with_the_driver(
    server: subprocess.Popen[str], tmp_path: Path, victim: str
) -> None:
    script = tmp_path / "w.py"
    script.write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(60)\n")
    client = subprocess.Popen([*command(server), str(script)], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    worker = int(client.stdout.readline())
    os.kill(client.pid if victim == "client" else server.pid, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while Path(f"/proc/{worker}/stat").exists() and " Z " not in Path(f"/proc/{worker}/stat").read_text():
        assert time.monotonic() < deadline, "the worker is still alive"
        time.sleep(0.05)
    end(server)
    client.kill()
    client.communicate()
