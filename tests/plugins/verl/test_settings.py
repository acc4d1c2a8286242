"""Settings: strict, and with a message that names the key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aworld_verl.settings import SettingsError, dump_settings, load_settings, parse_settings

NEEDED: dict[str, Any] = {"model_path": "m", "tasks_file": "t", "out_dir": "o", "source": "a:b"}


def test_defaults_are_those_of_the_reference_run() -> None:
    settings = parse_settings(NEEDED)
    assert (settings.batch, settings.samples, settings.mini_batch, settings.lr) == (16, 8, 8, 3e-4)


def test_written_settings_read_back_equal(tmp_path: Path) -> None:
    settings = parse_settings({**NEEDED, "seed": 7, "overrides": ["a.b=1"]})
    dump_settings(settings, tmp_path / "s.json")
    assert load_settings(tmp_path / "s.json") == settings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sampels": 4}, "unknown setting 'sampels'; did you mean 'samples'?"),
        ({"steps": "four"}, "setting 'steps': expected int, got str"),
        ({"steps": True}, "setting 'steps': expected int, got bool"),
        ({"steps": 0}, "setting 'steps' must be greater than 0"),
        ({"kl": -1.0}, "setting 'kl' must not be negative"),
        ({"resume": "maybe"}, "setting 'resume': expected one of auto, never"),
        ({"batch": 6, "mini_batch": 4}, "must be a multiple of 'mini_batch'"),
        ({"temperature": 0.7}, "use 'recompute'"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings({**NEEDED, **change})
    assert message in str(caught.value)


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(SettingsError, match="missing setting: source"):
        parse_settings({k: v for k, v in NEEDED.items() if k != "source"})
