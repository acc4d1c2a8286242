"""Installing and uninstalling for real, into an environment of its own; no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OFFER = """
from aworld_cli.host import Component, hookimpl
aworld_api = 1
@hookimpl
def aworld_components():
    return [Component("tool", "abacus", "Counts beads", "nowhere:factory", "nowhere:Config")]
"""
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that sees this one's packages, AWorld among them."""
    where = tmp_path_factory.mktemp("venv")
    venv.create(where, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(where), "platbase": str(where)}))
    ours = sysconfig.get_path("purelib")
    # `addsitedir`, since the .pth files there make editable installs importable
    (site / "outer.pth").write_text(f"import site; site.addsitedir({ours!r})\n{ROOT}\n")
    return where / "bin" / "python"


@pytest.fixture
def run(python: Path, tmp_path: Path) -> Run:
    """Run `aworld` in that environment; what a test installs is removed before the next one."""

    def call(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "UV_"))}
        return subprocess.run(
            [python, "-m", "aworld_cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
            env={**kept, "COLUMNS": "200", "PIP_CONFIG_FILE": os.devnull, **env},
            check=False,
        )

    return call


@pytest.fixture(autouse=True)
def clean(python: Path) -> None:
    """Remove what an earlier test installed."""
    for path in (python.parents[1] / "lib").glob("python*/site-packages/*aworld_test_*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def wheel(where: Path, name: str, source: str, *, version: str = "1.0", entry_point: bool = True) -> Path:
    """Write a wheel of one module by hand: distribution `aworld-test-NAME`, entry point `NAME`."""
    module, info = f"aworld_test_{name}", f"aworld_test_{name}-{version}.dist-info"
    files = {
        f"{module}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: aworld-test-{name}\nVersion: {version}\nSummary: A test\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if entry_point:
        files[f"{info}/entry_points.txt"] = f"[aworld]\n{name} = {module}\n"
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    path = where / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def test_install_show_and_uninstall(run: Run, tmp_path: Path) -> None:
    wheel(tmp_path, "good", OFFER)
    done = run("plugins", "install", "--no-index", "--no-deps", "--find-links", tmp_path, "aworld-test-good")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "tool abacus of aworld-test-good 1.0: ok\n"
    assert "Successfully installed aworld-test-good-1.0" in done.stderr
    assert "plugin good: A test" in run("plugins", "show", "good").stdout
    again = run("plugins", "install", "--no-index", "--no-deps", "--find-links", tmp_path, "aworld-test-good")
    assert again.returncode == 0 and again.stdout == "" and "Nothing changed." in again.stderr
    newer = wheel(tmp_path, "good", OFFER, version="1.1")
    done = run("plugins", "install", "--json", "--no-index", "--no-deps", newer)
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (row["name"], row["version"], row["status"]) == ("abacus", "1.1", "ok")
    done = run("plugins", "uninstall", "good")
    assert done.returncode == 0
    assert done.stdout == "uninstalled: plugin good of aworld-test-good 1.1\n"
    assert run("plugins", "show", "good").returncode == 5


def test_a_broken_plugin_hinders_neither(run: Run, tmp_path: Path) -> None:
    broken = wheel(tmp_path, "bad", "print('imported')\nimport does_not_exist_anywhere")
    done = run("plugins", "install", "--no-index", "--no-deps", broken)
    assert done.returncode == 0
    assert done.stdout.startswith("plugin bad of aworld-test-bad 1.0: failed: ModuleNotFoundError")
    done = run("plugins", "install", "--no-index", "--no-deps", wheel(tmp_path, "good", OFFER))
    assert done.stdout == "tool abacus of aworld-test-good 1.0: ok\n"
    assert "imported" not in done.stderr and "not used" not in done.stderr
    done = run("plugins", "uninstall", "bad", "Aworld_Test.Good", AWORLD_STRICT_PLUGINS="1")
    assert done.returncode == 0 and "imported" not in done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "uninstalled: plugin bad of aworld-test-bad 1.0",
        "uninstalled: plugin good of aworld-test-good 1.0",
    ]


def test_what_is_no_plugin_is_said_to_be_none(run: Run, tmp_path: Path) -> None:
    stranger = wheel(tmp_path, "stranger", "x = 1", entry_point=False)
    done = run("plugins", "install", "--no-index", "--no-deps", stranger)
    assert done.returncode == 0 and done.stdout == ""
    assert "warning: aworld-test-stranger 1.0 is installed, but it is no AWorld plugin" in done.stderr


def test_what_pip_cannot_do_is_named(run: Run, tmp_path: Path) -> None:
    done = run("plugins", "install", "--no-index", "aworld-test-absent")
    assert done.returncode == 6 and done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        "error: pip install failed with exit code 1: No matching distribution found for aworld-test-absent"
    )
    done = run("plugins", "install", "--", "--no-such-option", "x")
    assert done.returncode == 6 and "no such option" in done.stderr


@pytest.mark.parametrize("name", ["aworld-cli", "Aworld_CLI", "builtin"])
def test_aworld_itself_stays(name: str, run: Run) -> None:
    done = run("plugins", "uninstall", name)
    assert done.returncode == 2
    assert done.stderr.endswith("is AWorld itself, not a plugin beside it; `pip uninstall aworld-cli` removes it\n")


def test_what_is_outside_the_environment_is_said_to_stay(run: Run) -> None:
    done = run("plugins", "uninstall", "toolbox")
    assert done.returncode == 6 and done.stdout == ""
    assert "pip left aworld-toolbox where it is" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["tolbox"], 5, "no plugin or plugin's distribution is called 'tolbox'; did you mean 'toolbox'?"),
        (["--verbose"], 2, "name a plugin or a distribution"),
        ([], 2, "Missing argument"),
    ],
)
def test_uninstall_of_nothing(arguments: list[str], code: int, said: str, run: Run) -> None:
    done = run("plugins", "uninstall", *arguments)
    assert done.returncode == code and said in done.stderr


@pytest.fixture
def without_pip(python: Path, tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """Hide pip from the environment; returns variables with a PATH of one directory that holds the given `uv`."""

    def hide(uv: str) -> dict[str, str]:
        hook = tmp_path / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text(
            "from importlib.machinery import PathFinder\n"
            "find = PathFinder.find_spec\n"
            "PathFinder.find_spec = lambda name, *rest: None if name == 'pip' else find(name, *rest)\n"
        )
        if uv:
            program = hook / "uv"
            program.write_text(uv)
            program.chmod(0o755)
        return {"PYTHONPATH": str(hook), "PATH": str(hook)}

    return hide


def test_without_pip_or_uv_the_remedy_is_told(run: Run, without_pip: Callable[[str], dict[str, str]]) -> None:
    done = run("plugins", "install", "aworld-test-good", **without_pip(""))
    assert done.returncode == 6
    (line,) = done.stderr.splitlines()
    assert " has no pip" in line and "-m ensurepip" in line and "pipx inject aworld-cli" in line


def test_without_pip_uv_does_it(python: Path, run: Run, without_pip: Callable[[str], dict[str, str]]) -> None:
    uv = f"#!{sys.executable}\nimport sys\nprint('out')\nprint(sys.argv[1:], file=sys.stderr)\n"
    uv += "sys.exit(len(sys.argv) > 9)\n"
    env = without_pip(uv)
    done = run("plugins", "install", "-e", "some where", **env)
    assert done.returncode == 0 and done.stdout == ""
    assert f"['pip', 'install', '--python', '{python}', '-e', 'some where']" in done.stderr and "out" in done.stderr
    done = run("plugins", "install", "a", "b", "c", "d", "e", "f", **env)
    assert done.returncode == 6
    assert done.stderr.splitlines()[-1] == "error: uv pip install failed with exit code 1"
