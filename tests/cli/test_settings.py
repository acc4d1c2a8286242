"""Settings of the user: flag > environment > config.toml > default; a mistake names the file and the key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aworld_cli.errors import UsageError
from aworld_cli.settings.base import Settings, load_settings
from aworld_cli.settings.places import cache_directory, config_file, config_path
from aworld_cli.settings.user_config import read_user_config
from aworld_cli.settings.variables import KNOWN
from tests.conftest import AddPlugin, Aworld

Configure = Callable[[str], Path]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Write the user's config.toml."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("AWORLD_HOME", raising=False)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"AWORLD_{name.upper()}", raising=False)

    def write(text: str) -> Path:
        path = tmp_path / "config" / "aworld" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_precedence(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings(runs_dir=None) == Settings(runs_dir=Path("runs"), max_errors=0, disable_plugins=())
    configure("runs_dir = '/file'\nmax_errors = 1\ndisable_plugins = ['a', 'b']")
    assert load_settings() == Settings(runs_dir=Path("/file"), max_errors=1, disable_plugins=("a", "b"))
    monkeypatch.setenv("AWORLD_RUNS_DIR", "/environment")
    monkeypatch.setenv("AWORLD_DISABLE_PLUGINS", "c, d")
    monkeypatch.setenv("AWORLD_MAX_ERRORS", "")  # empty counts as not set
    found = load_settings()
    assert (found.runs_dir, found.max_errors, found.disable_plugins) == (Path("/environment"), 1, ("c", "d"))
    found = load_settings(runs_dir=Path("flag"), max_errors=0)
    assert (found.runs_dir, found.max_errors) == (Path("flag"), 0)


def test_the_home_directory_may_be_a_tilde(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    configure("runs_dir = '~/runs'")
    assert load_settings().runs_dir == Path("/home/me/runs")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run_dir = 'x'", "config.toml:1:1: run_dir: unknown key; did you mean 'runs_dir'?"),
        ("max_errors = 'many'", "config.toml:1:1: max_errors: a whole number is expected, got 'many'"),
        ("max_errors = true", "config.toml:1:1: max_errors: a whole number is expected, got true"),
        ("grace = true", "config.toml:1:1: grace: a number is expected, got true"),
        ("max_errors = -1", "config.toml:1:1: max_errors: must be at least 0, got -1"),
        ("disable_plugins = 3", "config.toml:1:1: disable_plugins: a list is expected, got 3"),
        ("runs_dir = '~nobody-of-this-name/x'", "config.toml:1:1: runs_dir: "),
        ('runs_dir = "a\\u0000b"', "config.toml:1:1: runs_dir: a path is expected, got one with a null character"),
        (f"x = {'[' * 3000}", "config.toml: nested too deeply"),
        (f"{'a.' * 3000}a = 1", "config.toml: nested too deeply"),
        ("runs_dir = ", "config.toml: not valid TOML"),
    ],
)
def test_a_mistake_in_the_file(text: str, said: str, configure: Configure) -> None:
    path = configure(text)
    with pytest.raises(UsageError) as caught:
        load_settings()
    assert str(caught.value).startswith(str(path)) and said in str(caught.value)


def test_a_mistake_in_the_environment(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    configure("max_errors = 1")
    monkeypatch.setenv("AWORLD_MAX_ERRORS", "many")
    with pytest.raises(UsageError, match=r"^AWORLD_MAX_ERRORS: a whole number is expected, got 'many'"):
        load_settings()


def test_where_the_file_is(tmp_path: Path, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    path = configure("")
    assert config_file() == path
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_file() is None
    (tmp_path / ".config" / "aworld").mkdir(parents=True)
    (tmp_path / ".config" / "aworld" / "config.toml").touch()
    assert config_file() == tmp_path / ".config" / "aworld" / "config.toml"


def test_one_folder_for_all(tmp_path: Path, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("AWORLD_CACHE_DIR", raising=False)
    configure("")
    assert cache_directory() == tmp_path / "caches" / "aworld"
    monkeypatch.setenv("AWORLD_HOME", str(tmp_path / "all"))
    assert (config_file(), cache_directory()) == (None, tmp_path / "all" / "cache")
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "config.toml").write_text("max_errors = 4")
    assert load_settings().max_errors == 4
    monkeypatch.setenv("AWORLD_CACHE_DIR", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"


def test_the_place_on_a_mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWORLD_HOME", "AWORLD_CACHE_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "darwin")
    assert config_path() == tmp_path / "Library/Application Support/aworld/config.toml"
    assert cache_directory() == tmp_path / "Library/Caches/aworld"


TOML = """\
# a comment
max_errors = 1
disable_plugins = [
  "a",
]
"quoted key" = '''
x = 1
'''

[recipe]
  seed = 3
sampling.top_p = 1.0
[recipe.model]
headers = {a = "b"}
[[recipe.tools]]
kind = "one"
[[recipe.tools]]
kind = "two"
[recipe.tools.env]
a = "b"
"""


@pytest.mark.parametrize(
    ("path", "mark"),
    [
        (("max_errors",), (2, 1)),
        (("disable_plugins",), (3, 1)),
        (("disable_plugins", 0), (3, 1)),
        (("quoted key",), (6, 1)),
        (("recipe",), (10, 1)),
        (("recipe", "seed"), (11, 3)),
        (("recipe", "sampling", "top_p"), (12, 1)),
        (("recipe", "model", "headers", "a"), (14, 1)),
        (("recipe", "tools", 0, "kind"), (16, 1)),
        (("recipe", "tools", 1, "kind"), (18, 1)),
        (("recipe", "tools", 1, "env", "a"), (20, 1)),
        (("recipe", "nothing"), (10, 1)),
        (("nothing",), None),
    ],
)
def test_the_lines_of_the_file(path: tuple[str | int, ...], mark: object, configure: Configure) -> None:
    configure(TOML)
    assert read_user_config().mark(path) == mark


def test_a_name_that_is_nearly_one_of_ours_is_told(aworld: Aworld) -> None:
    wrong = {"AWORLD_RUN_DIR": "x", "AWORLD_RECIPE_SEED": "7", "AWORLD_TEST_RUN": "", "AWORLD_CACHE_DIR": "x"}
    done = aworld("plugins", "--json", env={**wrong, "aworld_max_errors": "1", "AWORLD_VERL_RUN": "x"})
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if "variable" in line] == [
        "warning: the variable AWORLD_RECIPE_SEED is not read; did you mean AWORLD_RECIPE__SEED?",
        "warning: the variable AWORLD_RUN_DIR is not read; did you mean AWORLD_RUNS_DIR?",
    ]


def test_every_setting_has_its_variable_in_the_list() -> None:
    assert {f"AWORLD_{name.upper()}" for name in Settings.model_fields} <= set(KNOWN)


def test_all_mistakes_at_once(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    configure("max_errors = 'x'\nnope = 1\ngrace = -1")
    monkeypatch.setenv("aworld_max_errors", "y")
    with pytest.raises(UsageError) as caught:
        load_settings()
    text = str(caught.value)
    assert "config.toml:2:1: nope: unknown key" in text and "config.toml:3:1: grace: must be at least 0, got -1" in text
    assert "aworld_max_errors: a whole number is expected, got 'y'" in text and len(text.splitlines()) == 3


def test_commands_follow_the_file(
    configure: Configure, aworld: Aworld, add_plugin: AddPlugin, teacher_recipe: Callable[..., Path], tmp_path: Path
) -> None:
    add_plugin("loud", "print('imported')\naworld_api = 1")
    configure("runs_dir = 'elsewhere'\ndisable_plugins = ['loud']")
    assert "imported" not in aworld("--help").stderr
    assert "imported" in aworld("--help", env={"AWORLD_DISABLE_PLUGINS": "other"}).stderr
    assert aworld("run", teacher_recipe(tasks=1)).returncode == 0
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    rows = [json.loads(line) for line in aworld("plugins", "--json").stdout.splitlines()]
    assert [row["status"] for row in rows if row["plugin"] == "loud"] == ["disabled"]


def test_a_wrong_file_costs_a_line_and_never_the_help(configure: Configure, aworld: Aworld) -> None:
    configure("nope = 1")
    done = aworld("plugins")
    assert done.returncode == 2 and "config.toml:1:1: nope: unknown key" in done.stderr
    done = aworld("--help")
    assert done.returncode == 0 and "validate" in done.stdout and "warning" in done.stderr
