"""The table of stations: millimetres of rain in each month."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


@cache
def rain() -> dict[str, dict[str, int]]:
    """Return station -> month -> millimetres."""
    rows = list(csv.DictReader((files("aworld_weather") / "stations.csv").read_text().splitlines()))
    return {row.pop("station"): {month: int(value) for month, value in row.items()} for row in rows}
