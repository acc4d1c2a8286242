"""The root command: all commands are there, none is imported before it is named."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aworld_cli import __version__
from aworld_cli.cli.groups import COMMANDS
from tests.conftest import AddPlugin, Aworld

WITH_COMMAND = """
from aworld_cli.host import Command, hookimpl
aworld_api = 1
@hookimpl
def aworld_commands():
    return [Command("mine", "A command of mine", __name__ + ":app"), Command("run", "Hidden", __name__ + ":app")]
"""


def completions(words: str, cwd: Path) -> list[str]:
    """Ask as bash does."""
    asked = {"_AWORLD_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    command = [sys.executable, "-c", "import sys; sys.argv = ['aworld']; from aworld_cli.__main__ import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **asked})
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help(command: Any, aworld: Aworld) -> None:
    done = aworld(command.name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: aworld {command.name} ")


def test_help_imports_no_command(aworld: Aworld, tmp_path: Path) -> None:
    modules = [command.target.partition(":")[0] for command in COMMANDS]
    code = (
        "import sys\nsys.argv = ['aworld', '--help']\nfrom aworld_cli.__main__ import main\n"
        f"try:\n    main()\nfinally:\n    print([m for m in {modules} if m in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == "[]\n"
    for command in COMMANDS:
        assert f"  {command.name} " in done.stdout


def test_help_lists_the_commands_of_plugins_apart(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("mine", WITH_COMMAND)
    shown = aworld("--help").stdout
    assert shown.partition("Commands of plugins:")[2].split() >= ["mine", "A", "command", "of", "mine"]
    assert "Hidden" not in shown


def test_the_version_needs_no_command_line(tmp_path: Path) -> None:
    code = (
        "import sys\nsys.argv = ['aworld', '--version']\nfrom aworld_cli.__main__ import main\nmain()\n"
        "print(sorted({'typer', 'pluggy', 'pydantic', 'importlib.metadata'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"aworld {__version__}\n", "[]\n")
    for order in (["--version", "--debug"], ["--no-plugins", "--version"]):
        done = subprocess.run([sys.executable, "-m", "aworld_cli", *order], capture_output=True, text=True, check=True)
        assert done.stdout == f"aworld {__version__}\n"


def test_a_word_that_is_no_command(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("mine", WITH_COMMAND)
    assert "Did you mean 'plugins'?" in aworld("plugin").stderr
    done = aworld("mien")
    assert done.returncode == 2 and "Did you mean 'mine'?" in done.stderr


def test_commands_and_options_complete(add_plugin: AddPlugin, tmp_path: Path) -> None:
    add_plugin("mine", WITH_COMMAND)
    assert completions("aworld va", tmp_path) == ["validate"]
    assert completions("aworld mi", tmp_path) == ["mine"]
    assert {command.name for command in COMMANDS} <= set(completions("aworld ", tmp_path))
    assert "--resume" in completions("aworld run --re", tmp_path)
    assert completions("aworld --disable-plugin ver", tmp_path) == ["verl"]


def test_completion_survives_a_broken_plugin(add_plugin: AddPlugin, tmp_path: Path) -> None:
    add_plugin("broken", "print('printed')\nraise SystemExit(3)")
    command = "import sys; sys.argv = ['aworld']; from aworld_cli.__main__ import main; main()"
    asked = {"_AWORLD_COMPLETE": "complete_bash", "COMP_WORDS": "aworld va", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=False, env={**os.environ, **asked}
    )
    assert done.stdout.split() == ["validate"]
