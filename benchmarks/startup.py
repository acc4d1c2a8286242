"""Start-up in CPU time, as ratios within one run: `python benchmarks/startup.py [--rounds N] [--peer NAME=PROGRAM]`.

The base is `--help` of a one-command Typer program on the same interpreter. Each command runs in turn, round after
round, and its least user + system time counts, so that a busy machine spoils no ratio. `aworld` runs with ten more
plugins than are installed. The second table has no byte-code at all, as in containers with PYTHONDONTWRITEBYTECODE=1.

A peer is a program of another tool, in a virtual environment of its own: `--peer llm=/path/to/llm`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HELLO = '''
import typer
app = typer.Typer()
@app.command()
def main(name: str, formal: bool = False):
    """Say hello."""
    print(f"hello {name}")
app()
'''
PLUGIN = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("tool", "NAME", "One of ten", "NAME_code:make", "NAME_code:Config")]
"""
LIMITS = {"aworld --version": 0.6, "aworld --help": 1.3, "aworld plugins": 2.0}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PROGRAM")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = prepare(Path(folder), dict(peer.split("=", 1) for peer in given.peer))
        environment = {**os.environ, "PYTHONPATH": folder, "COLUMNS": "100", "HOME": folder}
        kept = table("with byte-code", commands, environment, given.rounds)
        bare = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": str(Path(folder) / "none")}
        kept &= table("without byte-code", commands, {**environment, **bare}, max(given.rounds // 3, 2))
    if not kept:
        raise SystemExit(1)


def prepare(folder: Path, peers: dict[str, str]) -> dict[str, list[str]]:
    """Write the base program and ten plugins; return the commands to measure, the base first."""
    (folder / "hello.py").write_text(HELLO)
    for number in range(10):
        name = f"startup_{number}"
        (folder / f"{name}.py").write_text(PLUGIN.replace("NAME", name))
        info = folder / f"aworld_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: aworld-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[aworld]\n{name} = {name}\n")
    aworld = [sys.executable, "-m", "aworld_cli"]
    commands = {"typer hello --help": [sys.executable, str(folder / "hello.py"), "--help"]}
    commands |= {name: [*aworld, name.split()[1]] for name in LIMITS}
    for name, program in peers.items():
        asked = {f"{name} {option}": [program, option] for option in ("--version", "--help")}
        commands |= {title: command for title, command in asked.items() if works(command)}
    return commands


def works(command: list[str]) -> bool:
    """Tell whether a peer has the option at all."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def table(title: str, commands: dict[str, list[str]], environment: dict[str, str], rounds: int) -> bool:
    """Print the least CPU time of each command, and its ratio to the first; return whether all keep their limits."""
    least = measure(commands, environment, rounds)
    base = next(iter(least.values()))
    print(f"\n{title}, {rounds} rounds, Python {sys.version.split()[0]}\n")
    print(f"{'command':<24} {'CPU ms':>8} {'ratio':>7} {'at most':>8}")
    for name, seconds in least.items():
        limit = f"{LIMITS[name]:g}" if name in LIMITS else ""
        print(f"{name:<24} {1000 * seconds:8.0f} {seconds / base:7.2f} {limit:>8}")
    return all(least[name] <= limit * base for name, limit in LIMITS.items())


def measure(commands: dict[str, list[str]], environment: dict[str, str], rounds: int) -> dict[str, float]:
    """Return the least user + system seconds of each command; one round goes before, to warm the caches."""
    least = dict.fromkeys(commands, float("inf"))
    for number in range(rounds + 1):
        for name, command in commands.items():
            seconds = cpu(command, environment)
            if number:
                least[name] = min(least[name], seconds)
    return least


def cpu(command: list[str], environment: dict[str, str]) -> float:
    """Run a command in silence; return its user + system seconds, those of its children included."""
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        descriptor = nowhere.fileno()
        actions = [(os.POSIX_SPAWN_DUP2, descriptor, 1), (os.POSIX_SPAWN_DUP2, descriptor, 2)]
        pid = os.posix_spawnp(command[0], command, environment, file_actions=actions)
        _, status, used = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
