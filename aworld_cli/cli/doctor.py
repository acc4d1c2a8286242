"""`aworld doctor`: look at this machine, one line and one remedy each."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aworld_cli.cli import output
from aworld_cli.cli.state import state
from aworld_cli.errors import AWorldError
from aworld_cli.host.containment import contained

if TYPE_CHECKING:
    from aworld_cli.doctor.base import Result
    from aworld_cli.doctor.gather import Job
    from aworld_cli.doctor.recipe import RecipeReport
    from aworld_cli.host.registry import Registry

_INDENT = " " * 9


def doctor(
    recipe: Annotated[Path | None, typer.Argument(help="A recipe: could it run here?", show_default=False)] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a value of the recipe first; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object.")] = False,
) -> None:
    """Look at this machine: Python, packages, GPUs, sandbox, browser, keys (by name), ports, limits.

    Starts nothing that stays, downloads nothing. With a recipe it also tells what that needs, and connects to the
    endpoints that it names. Exit codes: 0; with a recipe that could not run here 4 (bad recipe), 5 (plugin), 6.
    """
    from aworld_cli.doctor.gather import installation, jobs, take
    from aworld_cli.errors import UsageError

    if settings and recipe is None:
        raise UsageError("--set changes a recipe: name one")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what the checks started ends with us
    registry = _registry()
    report: RecipeReport | None = None
    with contained():  # stdout carries results only, whatever a plugin prints
        if recipe is not None:
            from aworld_cli.doctor.recipe import examine

            report = examine(recipe, settings or [], registry)
        waiting = jobs(registry, report.used if report is not None else ())
        known = installation(registry)
    if report is not None:
        waiting += report.jobs
        known += report.results
    if as_json:
        with contained():
            results = [*known, *take(waiting)]
    else:
        results = _show(known, waiting, with_recipe=recipe is not None)
    code = _exit_code(results, report)
    if as_json:
        bad = any(result.finding.status == "error" for result in results) if report is None else code != 0
        output.result_json({"checks": [result.to_json() for result in results], "ok": not bad})
    else:
        output.result(_closing(results, recipe, code))
    raise typer.Exit(code)


def _registry() -> Registry:
    """Return the plugins; a broken config.toml is a check's business here."""
    try:
        return state.registry()
    except AWorldError:
        from aworld_cli.host.loader import load_plugins
        from aworld_cli.host.registry import Registry

        return Registry(load_plugins(disabled=state.disabled, builtin_only=state.builtin_only))


def _show(known: Sequence[Result], waiting: Sequence[Job], *, with_recipe: bool) -> list[Result]:
    """Write each result as soon as it is there, in order; return them all."""
    from aworld_cli.doctor.gather import take

    width = max([len(result.name) for result in known] + [len(job.name) for job in waiting])
    results = list(known)
    for result in known:
        _write(result, width, with_recipe)
    with closing(take(waiting)) as taken:
        while True:
            with contained():  # what checks print while the next one is waited for goes to stderr
                following = next(taken, None)
            if following is None:
                return results
            results.append(following)
            _write(following, width, with_recipe)


def _write(result: Result, width: int, with_recipe: bool) -> None:
    finding = result.finding
    needed = ("needed  " if result.required else " " * 8) if with_recipe else ""
    detail = " ".join(finding.detail.split())
    output.result(f"{finding.status:<7}  {needed}{result.name:<{width}}  {detail}".rstrip())
    if finding.remedy and finding.status != "ok":
        output.result(f"{_INDENT}-> {finding.remedy}")


def _counted(results: Sequence[Result]) -> list[str]:
    names = {"error": "error", "warning": "warning", "missing": "optional thing missing", "unknown": "unknown"}
    found: list[str] = []
    for status, name in names.items():
        number = sum(result.finding.status == status for result in results)
        plural = name.replace("thing", "things") if status == "missing" else f"{name}s"
        if number:
            found.append(f"{number} {name if number == 1 or status == 'unknown' else plural}")
    return found


def _exit_code(results: Sequence[Result], report: RecipeReport | None) -> int:
    if report is None:
        return 0
    return report.code or (6 if any(result.prevents for result in results) else 0)


def _closing(results: Sequence[Result], recipe: Path | None, code: int) -> str:
    text = ", ".join(_counted(results)) or "all is well"
    if recipe is None:
        return text
    if code == 0:
        return f"{recipe} could run here; {text}"
    reasons = ", ".join(dict.fromkeys(result.name for result in results if result.prevents))
    return f"{recipe} cannot run here: {reasons}"
