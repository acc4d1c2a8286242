"""Which run a person means: a path, a name, the beginning of a name, `latest`."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from aworld_cli.archive.listing import list_runs
from aworld_cli.errors import UsageError

_LATEST = re.compile(r"latest(?:~(\d{1,6}))?")
_SHOWN = 5


def find_run(text: str, runs_dir: Path) -> Path:
    """Return the directory of the run that `text` names.

    It is the path of a run directory; else a name below `runs_dir`, or the beginning of one that only one has; or
    `latest`, and `latest~1` for the one before it.

    Raises:
        UsageError: there is none, or several begin so.
    """
    path = Path(text).expanduser()
    if text and (path / "lock.json").is_file():
        return path.absolute()
    names = [run.name for run in list_runs(runs_dir, sizes=False) if run.status != "damaged" or run.name == text]
    latest = _LATEST.fullmatch(text)
    if latest is not None and text not in names:
        back = int(latest[1] or 0)
        if back < len(names):
            return (runs_dir / names[back]).absolute()
        raise UsageError(f"{runs_dir} holds {len(names)} runs" if names else f"{runs_dir} holds no runs")
    beginning = text.rstrip("/")  # of "/", nothing is left, with which all names begin
    chosen = names if text in names else [name for name in names if beginning and name.startswith(beginning)]
    if text in chosen:
        return (runs_dir / text).absolute()
    if len(chosen) == 1:
        return (runs_dir / chosen[0]).absolute()
    if chosen:
        shown = ", ".join(chosen[:_SHOWN]) + (", ..." if len(chosen) > _SHOWN else "")
        raise UsageError(f"{text!r} is the beginning of {len(chosen)} runs: {shown}")
    if text and path.is_dir():
        raise UsageError(f"{text}: not a run directory (it holds no lock.json)")
    raise UsageError(f"no run is called {text!r} in {runs_dir}{_near(text, names)}")


def _near(text: str, names: list[str]) -> str:
    """Return what was probably meant; a name is also near when what follows its time is."""
    by_part = {part: name for name in reversed(names) for part in (name, name.partition("-")[2])}
    near = difflib.get_close_matches(text, by_part, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {by_part[near[0]]!r}?"
    if not names:
        return "; there are none (see --runs-dir)"
    return f"; newest: {', '.join(names[:_SHOWN])}"
