"""What this plugin offers, and what it does when a run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aworld_cli.host import Command, Component, hookimpl

if TYPE_CHECKING:
    from aworld_cli.reporter import RunInfo

aworld_api = 1


@hookimpl
def aworld_components() -> list[Component]:
    """Return the environment, the tool and the model."""
    return [
        Component(
            kind="environment",
            name="rain",
            summary="Sums of rain over months, for a station",
            factory="aworld_weather.environment:rain",
            config="aworld_weather.environment:RainConfig",
        ),
        Component(
            kind="tool",
            name="rain-gauge",
            summary="The rain of one station in one month",
            factory="aworld_weather.gauge:rain_gauge",
            config="aworld_weather.gauge:GaugeConfig",
        ),
        Component(
            kind="model",
            name="rain-clerk",
            summary="Looks every month up, adds, and answers: by a script",
            factory="aworld_weather.clerk:rain_clerk",
            config="aworld_weather.clerk:ClerkConfig",
        ),
    ]


@hookimpl
def aworld_commands() -> list[Command]:
    """Return `aworld weather`."""
    return [Command(name="weather", summary="The stations and their rain", app="aworld_weather.command:app")]


@hookimpl
def aworld_stage_finished(run: RunInfo, stage: str, summary: Mapping[str, Any]) -> None:
    """Leave a line on each stage in the run's directory."""
    counts = summary["counts"]
    with (run.directory / "weather.txt").open("a") as file:
        file.write(f"{stage}: {counts.get('correct', 0)} of {counts.get('selected', 0)} dry\n")
