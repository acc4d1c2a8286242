"""Starter recipes: whole, commented, and valid as they are. `aworld init CASE` writes one to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Starter:
    """One case.

    Args:
        case: what it is called; its recipe is `CASE.yaml` here, whose `name:` it is too.
        summary: one line.
        plugins: the distributions that it needs beside the core.
        variables: environment variables that must be set.
        before: commands to give once before it can run.
        files: further files, written beside the recipe.
    """

    case: str
    summary: str
    plugins: tuple[str, ...]
    variables: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def text(self, file: str = "") -> str:
        """Return the recipe, or one of the further files."""
        return (_HERE / (file or f"{self.case}.yaml")).read_text(encoding="utf-8")


_ARITHMETIC = ("aworld-arithmetic", "aworld-toolbox")

#: By name, in the order in which they are listed: from what runs anywhere to what needs something.
STARTERS: Final[dict[str, Starter]] = {
    starter.case: starter
    for starter in (
        Starter(
            "quickstart",
            "Train a tiny policy to use a tool, on this machine: SFT, then GRPO",
            (*_ARITHMETIC, "aworld-local", "aworld-verl"),
        ),
        Starter("rollout", "Collect trajectories from a scripted teacher, in seconds", _ARITHMETIC),
        Starter(
            "tools",
            "Give agents a tool of your own: an MCP server over stdio",
            ("aworld-arithmetic",),
            files=("server.py",),
        ),
        Starter(
            "openai",
            "Measure a model behind an OpenAI-compatible API",
            (*_ARITHMETIC, "aworld-openai"),
            variables=("OPENAI_API_KEY",),
        ),
        Starter(
            "local",
            "Measure a Hugging Face checkpoint on this machine's CPU",
            (*_ARITHMETIC, "aworld-local"),
            before=("aworld models fetch smollm2",),
        ),
    )
}
