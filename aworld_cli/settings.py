"""What holds for every recipe: command-line flag > `AWORLD_*` environment > the user's config.toml > default.

The keys of `config.toml` are the fields of `Settings`; the variables are their names in capitals after `AWORLD_`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from aworld_cli.errors import UsageError, did_you_mean
from aworld_cli.places import config_file

_PREFIX = "AWORLD_"


class Settings(BaseSettings):
    """Settings of this user on this machine; a variable that is empty counts as not set."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    runs_dir: Path = Field(Path("runs"), description="Where run directories are made.")
    disable_plugins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Plugins that are not loaded; in the environment separated by commas."
    )
    max_errors: int = Field(0, ge=0, description="Episode errors that still count as success.")

    @field_validator("disable_plugins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [name.strip() for name in value.split(",") if name.strip()]
        return value

    @field_validator("max_errors", mode="before")
    @classmethod
    def _no_bool(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("Input should be a valid integer, not true or false")
        return value

    @field_validator("runs_dir")
    @classmethod
    def _home(cls, value: Path) -> Path:
        try:
            return value.expanduser()
        except RuntimeError as error:  # `~name` of nobody
            raise ValueError(str(error)) from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment before what `load_settings` read from the file."""
        return env_settings, init_settings


def load_settings(**flags: Any) -> Settings:
    """Return the settings; `flags` are what the command line says, None where it says nothing.

    Raises:
        UsageError: the file cannot be read, has an unknown key, or a value in it or in the environment does not fit.
    """
    path = config_file()
    given = _read(path) if path is not None else {}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        raise UsageError("\n".join(_explain(item, path) for item in error.errors())) from error
    return settings.model_copy(update={key: value for key, value in flags.items() if value is not None})


def _read(path: Path) -> dict[str, Any]:
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    known = Settings.model_fields
    unknown = [f"{path}: {key}: unknown key{did_you_mean(key, known)}" for key in given if key not in known]
    if unknown:
        raise UsageError("\n".join(unknown))
    return given


def _explain(item: Any, path: Path | None) -> str:
    text = str(item["msg"]).removeprefix("Value error, ")
    key = str(item["loc"][0])
    variable = f"{_PREFIX}{key.upper()}"
    if os.environ.get(variable):
        return f"{variable}: {text}"
    return f"{path}: {key}: {text}"
