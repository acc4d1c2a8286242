"""The shell's completion of plugin names, through its real protocol."""

from __future__ import annotations

import subprocess

import pytest

from tests.conftest import AddPlugin, Aworld

LOUD = "import sys\nprint('imported')\nprint('imported', file=sys.stderr)\n"
OFFER = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("tool", "abacus", "Counts beads", "nowhere:factory", "nowhere:Config")]
"""


def complete(aworld: Aworld, line: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Ask for what may follow a line, as the function does that bash calls."""
    words = line.split(" ")
    asked = {"_AWORLD_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return aworld(env={**asked, **env})


def test_uninstall_offers_plugins_without_loading_any(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("bad", LOUD + "raise SystemExit(3)")
    done = complete(aworld, "aworld plugins uninstall ")
    assert (done.returncode, done.stderr) == (0, "")
    names = done.stdout.splitlines()
    assert {"bad", "aworld-bad", "toolbox", "aworld-toolbox"} <= set(names)
    assert not {"builtin", "aworld-cli"} & set(names)
    assert complete(aworld, "aworld plugins uninstall aworld-b").stdout == "aworld-bad\n"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("aba", ["abacus"]),
        ("tool/a", ["tool/abacus"]),
        ("aworld-m", ["aworld-mine"]),
        ("aworld-mine/", ["aworld-mine/abacus"]),
        ("zzz", []),
    ],
)
def test_show_offers_components_too(typed: str, offered: list[str], aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("mine", LOUD + OFFER)
    add_plugin("bad", LOUD + "raise SystemExit(3)")
    done = complete(aworld, f"aworld plugins show {typed}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == offered


def test_names_of_commands_come_without_a_word_of_broken_plugins(aworld: Aworld, add_plugin: AddPlugin) -> None:
    add_plugin("bad", LOUD + "raise SystemExit(3)")
    done = complete(aworld, "aworld plu")
    assert (done.returncode, done.stdout, done.stderr) == (0, "plugins\n", "")
    assert complete(aworld, "aworld plugins ins", AWORLD_STRICT_PLUGINS="1").stdout == "install\n"


def test_help_of_what_is_offered(aworld: Aworld) -> None:
    done = aworld(env={"_AWORLD_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "aworld plugins show loc"})
    assert "model" in done.stdout and "plugin of aworld-local" in done.stdout and "runtime" in done.stdout


def test_a_wrong_setting_offers_nothing_and_says_nothing(
    aworld: Aworld, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("config")
    (home / "aworld").mkdir()
    (home / "aworld" / "config.toml").write_text("no = [toml")
    done = complete(aworld, "aworld plugins show cal", XDG_CONFIG_HOME=str(home))
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
