"""What a check gives. A finding never holds the value of a key or of any other environment variable that is secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

#: `missing` is an optional thing that is not there; `unknown` a check that could not be made.
Status = Literal["ok", "warning", "missing", "error", "unknown"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw; `remedy` says what to do about a status other than `ok`."""

    status: Status
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """A line of `aworld doctor`; `required` tells whether the given recipe depends on it."""

    name: str
    finding: Finding
    required: bool = False

    @property
    def prevents(self) -> bool:
        """Whether the recipe cannot run because of it."""
        return self.required and self.finding.status in ("error", "missing")

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        found = self.finding
        shown = {"name": self.name, "status": found.status, "detail": found.detail, "remedy": found.remedy}
        return {**shown, "required": self.required}
