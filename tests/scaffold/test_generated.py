"""What `aworld plugins new` writes, for every kind: it installs, passes its own tests, and lints and types cleanly."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from aworld_cli.host import KINDS
from tests.scaffold.venvs import Venv


@pytest.fixture(scope="module")
def generated(workbench: Venv, tmp_path_factory: pytest.TempPathFactory) -> tuple[Venv, Path]:
    """A package of each kind, `aworld-my-KIND`, all installed in one environment."""
    folder = tmp_path_factory.mktemp("generated")
    for kind in KINDS:
        workbench.run("python", "-m", "aworld_cli", "plugins", "new", kind, f"my-{kind}", cwd=folder)
    workbench.pip_install(*(folder / f"aworld-my-{kind}" for kind in KINDS))
    return workbench, folder


@pytest.fixture(scope="module")
def own_tests(generated: tuple[Venv, Path]) -> Iterator[dict[str, Future[subprocess.CompletedProcess[str]]]]:
    """The packages' own tests, two at a time: they mostly start processes."""
    venv, folder = generated
    pytest_ = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    pool = ThreadPoolExecutor(2)
    slow = ("trainer", "tool", "agent")
    try:
        yield {
            kind: pool.submit(venv.run, *pytest_, cwd=folder / f"aworld-my-{kind}", check=False)
            for kind in sorted(KINDS, key=lambda kind: kind not in slow)
        }
    finally:
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("kind", KINDS)
def test_it_passes_its_own_tests(kind: str, own_tests: dict[str, Future[subprocess.CompletedProcess[str]]]) -> None:
    done = own_tests[kind].result()
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) > 10, done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_clean(kind: str, generated: tuple[Venv, Path]) -> None:
    venv, folder = generated
    package = folder / f"aworld-my-{kind}"
    for command in (["check"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
        linted = subprocess.run(ruff, cwd=package, capture_output=True, text=True, check=False)
        assert linted.returncode == 0, linted.stdout + linted.stderr
    done = venv.run("python", "-m", "mypy", "--cache-dir", folder / "mypy", cwd=package)
    assert "no issues found in 6 source files" in done.stdout


def test_they_are_all_there(generated: tuple[Venv, Path]) -> None:
    venv, folder = generated
    rows = map(json.loads, venv.run("python", "-m", "aworld_cli", "plugins", "--json", cwd=folder).stdout.splitlines())
    found = {row["name"]: row for row in rows if row["distribution"].startswith("aworld-my-")}
    assert sorted(found) == sorted(f"my-{kind}" for kind in KINDS)
    assert {row["status"] for row in found.values()} == {"ok"}


@pytest.mark.parametrize("kind", KINDS)
def test_its_readme_tells_the_truth(kind: str, generated: tuple[Venv, Path]) -> None:
    """Every option is in the table with its default, and the recipe shown is the one that the tests run."""
    venv, folder = generated
    package = folder / f"aworld-my-{kind}"
    text = (package / "README.md").read_text()
    (recipe,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert recipe == (package / "recipe.yaml").read_text()
    script = (
        f"import json; from aworld_my_{kind}.{kind} import Options; "
        "print(json.dumps({name: str(field.default) for name, field in Options.model_fields.items()}))"
    )
    options = json.loads(venv.run("python", "-c", script, cwd=folder).stdout)
    rows = dict(re.findall(r"^\| `(\w+)` \| `?([^|`]+?)`? \|", text.partition("## Develop")[0], re.MULTILINE))
    assert rows == options


def test_its_recipe_is_valid_and_its_names_are_its_own(generated: tuple[Venv, Path]) -> None:
    venv, folder = generated
    recipes = [folder / f"aworld-my-{kind}" / "recipe.yaml" for kind in KINDS]
    done = venv.run("python", "-m", "aworld_cli", "validate", *recipes, cwd=folder)
    assert done.stdout.count(": ok\n") == len(KINDS)
    for kind in KINDS:
        package = folder / f"aworld-my-{kind}"
        for file in package.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                assert not re.search(r"@[a-z_]+@|_package_", file.read_text()), file
