"""Settings of the user: flag > environment > config.toml > default; a mistake names the file and the key."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from aworld_cli.errors import UsageError
from aworld_cli.places import config_file
from aworld_cli.settings import Settings, load_settings
from tests.conftest import AddPlugin, Aworld

Configure = Callable[[str], Path]


@pytest.fixture
def configure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Write the user's config.toml."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
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
        ("run_dir = 'x'", "config.toml: run_dir: unknown key; did you mean 'runs_dir'?"),
        ("max_errors = 'many'", "config.toml: max_errors: Input should be a valid integer"),
        ("max_errors = true", "config.toml: max_errors: Input should be a valid integer, not true or false"),
        ("max_errors = -1", "config.toml: max_errors: Input should be greater than or equal to 0"),
        ("disable_plugins = 3", "config.toml: disable_plugins: Input should be a valid tuple"),
        ("runs_dir = '~nobody-of-this-name/x'", "config.toml: runs_dir: "),
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
    with pytest.raises(UsageError, match=r"^AWORLD_MAX_ERRORS: Input should be a valid integer"):
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
    assert done.returncode == 2 and "config.toml: nope: unknown key" in done.stderr
    done = aworld("--help")
    assert done.returncode == 0 and "validate" in done.stdout and "warning" in done.stderr
