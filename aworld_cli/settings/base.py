"""What holds for every recipe: command-line flag > `AWORLD_*` environment > the user's config.toml > default.

The keys of `config.toml` are the fields of `Settings`, beside the table `recipe`; the variables are their names in
capitals after `AWORLD_`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from aworld_cli.errors import UsageError, did_you_mean
from aworld_cli.recipe.wording import explain
from aworld_cli.settings.user_config import UserConfig, read_user_config
from aworld_cli.settings.variables import PREFIX

#: The table of config.toml that holds values for recipes (see `recipe.layers`).
RECIPE_TABLE = "recipe"


class Settings(BaseSettings):
    """Settings of this user on this machine; a variable that is empty counts as not set."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    runs_dir: Path = Field(Path("runs"), description="Where run directories are made.")
    disable_plugins: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="Plugins that are not loaded; in the environment separated by commas."
    )
    max_errors: int = Field(0, ge=0, description="Episode errors that still count as success.")
    grace: float = Field(
        30,
        ge=0,
        allow_inf_nan=False,
        description="Seconds that episodes in flight have to end when a run is asked to stop.",
    )

    @field_validator("disable_plugins", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return [name.strip() for name in value.split(",") if name.strip()]
        return value

    @field_validator("max_errors", "grace", mode="before")
    @classmethod
    def _no_bool(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool):
            wanted = "a whole number" if info.field_name == "max_errors" else "a number"
            raise ValueError(f"{wanted} is expected, got {str(value).lower()}")
        return value

    @field_validator("runs_dir")
    @classmethod
    def _home(cls, value: Path) -> Path:
        if "\0" in str(value):
            raise ValueError("a path is expected, got one with a null character")
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


@dataclass(frozen=True, slots=True)
class Effective:
    """A setting's value and where it comes from.

    Args:
        name: the field of `Settings`.
        value: plain.
        origin: `file:line:column`, a variable, an option, or "default".
        layer: what the origin is: "config", "variable", "flag" or "default".
    """

    name: str
    value: Any
    origin: str
    layer: str


def load_settings(**flags: Any) -> Settings:
    """Return the settings; `flags` are what the command line says, None where it says nothing.

    Raises:
        UsageError: the file cannot be read, has an unknown key, or a value in it or in the environment does not fit.
    """
    return _load(read_user_config()).model_copy(
        update={key: value for key, value in flags.items() if value is not None}
    )


def effective_settings(flags: Mapping[str, tuple[str, Any]] | None = None) -> list[Effective]:
    """Return every setting with its origin.

    Args:
        flags: what the command line says, by field: the option's name and the value.

    Raises:
        UsageError: see `load_settings`.
    """
    config = read_user_config()
    settings = _load(config)
    found: list[Effective] = []
    for name, value in settings.model_dump(mode="json").items():
        variable = _variable(name)
        if flags and name in flags:
            option, given = flags[name]
            found.append(Effective(name, given, option, "flag"))
        elif variable is not None:
            found.append(Effective(name, value, variable, "variable"))
        elif name in config.values:
            found.append(Effective(name, value, config.where((name,)), "config"))
        else:
            found.append(Effective(name, value, "default", "default"))
    return found


def _load(config: UserConfig) -> Settings:
    given = {key: value for key, value in config.values.items() if key != RECIPE_TABLE}
    known = Settings.model_fields
    problems = [
        f"{config.where((key,))}: {key}: unknown key{did_you_mean(key, [*known, RECIPE_TABLE])}"
        for key in given
        if key not in known
    ]
    try:
        settings = Settings(**{key: value for key, value in given.items() if key in known})
    except ValidationError as error:
        values = {**given, **{name: os.environ[variable] for name in known if (variable := _variable(name))}}
        for path, text in explain(Settings, error.errors(), values, lambda path: None):
            name = str(path[0])
            problems.append(f"{_variable(name) or f'{config.where(path)}: {name}'}: {text}")
    if problems:
        raise UsageError("\n".join(problems))
    return settings


def _variable(name: str) -> str | None:
    """Return the variable that gives a setting; upper and lower case are the same, and an empty one gives nothing."""
    wanted = f"{PREFIX}{name}".upper()
    return next((variable for variable in os.environ if variable.upper() == wanted and os.environ[variable]), None)
