"""`aworld plugins new`: what it writes, tells and refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aworld_cli.errors import UsageError
from aworld_cli.host import KINDS
from aworld_cli.scaffold import name_plugin, render, write_package
from aworld_cli.scaffold.kinds import TEMPLATES
from aworld_cli.scaffold.naming import LONGEST, OWN
from tests.conftest import AddPlugin, Aworld

SHORT, LONG = "x", "a-name-that-is-as-long-as-a-name-may-be7"


def test_it_tells_what_it_made_and_what_is_next(aworld: Aworld, tmp_path: Path) -> None:
    done = aworld("plugins", "new", "tool", "word-count")
    assert (done.returncode, done.stdout) == (0, "aworld-word-count\n")
    assert done.stderr.splitlines()[-4:] == [
        "  cd aworld-word-count",
        '  pip install -e ".[test]"',
        "  pytest",
        "  aworld run recipe.yaml",
    ]
    made = tmp_path / "aworld-word-count"
    files = {path.relative_to(made).as_posix(): path.read_text() for path in made.rglob("*") if path.is_file()}
    assert files == render(name_plugin("tool", "word-count"))
    assert 'word-count = "aworld_word_count.plugin"' in files["pyproject.toml"]
    assert made.stat().st_mode & 0o777 == (0o777 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_for_scripts(aworld: Aworld, tmp_path: Path) -> None:
    done = aworld("plugins", "new", "agent", "aworld-planner", "--directory", "a b/c", "--json")
    made = json.loads(done.stdout)
    assert done.stderr == ""
    assert made["directory"] == "a b/c/aworld-planner" and made["distribution"] == "aworld-planner"
    assert made["component"] == {"kind": "agent", "name": "planner"}
    assert made["next"][0] == "cd 'a b/c/aworld-planner'"
    assert all((tmp_path / made["directory"] / file).is_file() for file in made["files"])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["tol", "mine"], 2, "there is no kind of component called 'tol'; did you mean 'tool'?"),
        (["zzz", "mine"], 2, "known: agent, environment, model"),
        (["tool", "Word_Count"], 2, "did you mean 'word-count'?"),
        (["tool", "aworld-Word Count!"], 2, "did you mean 'word-count'?"),
        (["tool", "9lives"], 2, "did you mean 'lives'?"),
        (["tool", "a--b"], 2, "did you mean 'a-b'?"),
        (["tool", "../etc"], 2, "did you mean 'etc'?"),
        (["tool", "--", "-x"], 2, "did you mean 'x'?"),
        (["tool", "größe"], 2, "'größe' is no name for a plugin"),
        (
            ["tool", ""],
            2,
            "'' is no name for a plugin (lower-case letters, digits and single hyphens, a letter first)\n",
        ),
        (["tool", "aworld"], 2, "'aworld' is no name for a plugin"),
        (["tool", "aworld-"], 2, "'aworld-' is no name for a plugin"),
        (["tool", "x" * 41], 2, "too long: at most 40 characters"),
        (["agent", "cli"], 2, "aworld-cli is a distribution of AWorld itself"),
        (["model", "verl"], 2, "aworld-verl is a distribution of AWorld itself"),
        (["tool", "calculator"], 2, "there is a tool 'calculator' already, of aworld-toolbox"),
        (["tool", "stdio"], 2, "there is a tool 'stdio' already, of aworld-cli"),
        (["tool", "mine", "--directory", "x" * 300], 6, "/aworld-mine: cannot be written: "),
        (["tool", "mine", "--directory", "file"], 6, "file/aworld-mine: cannot be written: "),
        (["tool"], 2, "Missing argument 'NAME'"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, said: str, aworld: Aworld, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = aworld("plugins", "new", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr and "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_component_of_another_kind_may_have_the_name(aworld: Aworld) -> None:
    assert aworld("plugins", "new", "agent", "calculator").returncode == 0


def test_an_installed_distribution_is_not_made_again(aworld: Aworld, add_plugin: AddPlugin, tmp_path: Path) -> None:
    add_plugin("mine", "aworld_api = 1")
    done = aworld("plugins", "new", "model", "mine")
    assert done.returncode == 2
    assert "aworld-mine " in done.stderr and " is installed already (" in done.stderr
    assert not (tmp_path / "aworld-mine").exists()


@pytest.mark.parametrize("there", ["directory", "file", "link"])
def test_what_is_there_is_left_alone(there: str, aworld: Aworld, tmp_path: Path) -> None:
    target = tmp_path / "aworld-mine"
    if there == "directory":
        target.mkdir()
        (target / "work.py").write_text("weeks")
    elif there == "file":
        target.write_text("weeks")
    else:
        target.symlink_to(tmp_path / "nowhere")
    done = aworld("plugins", "new", "tool", "mine")
    assert done.returncode == 2 and "aworld-mine is there already" in done.stderr
    assert {path.name for path in tmp_path.rglob("*")} <= {"aworld-mine", "work.py"}
    if there == "directory":
        assert (target / "work.py").read_text() == "weeks"
    elif there == "file":
        assert target.read_text() == "weeks"


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """No file may grow beyond 512 bytes: writing fails half-way through the package."""
    command = f"ulimit -f 1; exec {sys.executable} -B -m aworld_cli plugins new tool mine"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 6, done.stderr
    assert "aworld-mine: cannot be written: File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_two_at_once_make_one(tmp_path: Path) -> None:
    names = name_plugin("tool", "mine")
    target, _ = write_package(names, tmp_path)
    (target / "work.py").write_text("weeks")
    with pytest.raises(UsageError):
        write_package(names, tmp_path)
    assert (target / "work.py").read_text() == "weeks"


def test_there_is_a_template_for_each_kind() -> None:
    assert sorted(TEMPLATES) == sorted(KINDS)
    folders = {path.name for path in (Path(write_package.__code__.co_filename).parent / "templates").iterdir()}
    assert folders == {*KINDS, "common"}


def test_the_names_of_our_own_plugins_are_kept() -> None:
    root = Path(__file__).parents[2]
    assert {path.name.removeprefix("aworld-") for path in (root / "plugins").iterdir() if path.is_dir()} <= OWN


def test_the_code_is_clean_whatever_the_name(tmp_path: Path) -> None:
    """Neither an import nor a line's length may depend on the name."""
    assert len(LONG) == LONGEST
    for name in (SHORT, LONG, "class", "base", "mcp-test"):
        for kind in TEMPLATES:
            write_package(name_plugin(kind, name), tmp_path / kind)
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
        done = subprocess.run(ruff, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([sys.executable, "-m", "compileall", "-q", tmp_path], check=False).returncode == 0
