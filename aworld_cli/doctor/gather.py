"""Finds all checks and takes them at once, each on its own: one that crashes or hangs costs its line, nothing more."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from aworld_cli.doctor.base import Finding, Result
from aworld_cli.doctor.probe import kill_probes
from aworld_cli.host.component import Check
from aworld_cli.host.loader import Plugin
from aworld_cli.host.registry import Registry, describe

#: Seconds for all checks together; each program that they start has a shorter limit of its own.
SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Job:
    """A check to take: what its line is called, and what gives its finding."""

    name: str
    call: Callable[[], Finding]
    required: bool = False


def installation(registry: Registry) -> list[Result]:
    """Return what there is to say of `aworld` itself and of plugins that did not load."""
    import aworld_cli

    where = Path(aworld_cli.__file__).parent
    results = [Result("aworld", Finding("ok", f"{aworld_cli.__version__} at {where}"))]
    loaded = [plugin for plugin in registry.plugins if plugin.status == "ok"]
    disabled = [plugin.name for plugin in registry.plugins if plugin.status == "disabled"]
    more = f"; disabled: {', '.join(disabled)}" if disabled else ""
    results.append(Result("plugins", Finding("ok", f"{len(loaded)} loaded{more}")))
    for plugin in registry.plugins:
        if plugin.status in ("failed", "incompatible"):
            detail = f"{plugin.distribution} {plugin.version} is {plugin.status}: {plugin.reason}"
            remedy = f"pip install --upgrade --force-reinstall {plugin.distribution}, or pip uninstall it"
            results.append(Result(f"plugin {plugin.name}", Finding("error", detail, remedy)))
    return results


def jobs(registry: Registry, used: Sequence[tuple[str, str]] = ()) -> list[Job]:
    """Return a job for every check of every loaded plugin.

    Args:
        used: distribution and `kind/name` of the components that the recipe uses.
    """
    found: list[Job] = []
    for plugin in registry.plugins:
        if plugin.module is None:
            continue
        try:
            offered = _offered(plugin)
        except (Exception, SystemExit) as error:
            found.append(Job(f"checks of {plugin.name}", _failed(f"aworld_checks failed: {describe(error)}")))
            continue
        own = {name for distribution, name in used if distribution == plugin.distribution}
        for check in offered:
            needed = bool(own) if "*" in check.needed_by else bool(own.intersection(check.needed_by))
            found.append(Job(check.name, _loader(check), needed))
    return found


def take(waiting: Sequence[Job], *, seconds: float = SECONDS) -> Generator[Result, None, None]:
    """Take all checks at once and yield their results in the order given, each as soon as it and those before it are.

    Args:
        seconds: for all together; what is not there by then is `unknown`.
    """
    done: queue.SimpleQueue[tuple[int, Finding]] = queue.SimpleQueue()
    end = time.monotonic() + seconds
    found: dict[int, Finding] = {}
    try:
        for number, job in enumerate(waiting):
            # Daemons: a plugin's check that never returns must not keep the program from ending.
            threading.Thread(target=_take, args=(number, job, done), name=f"check-{job.name}", daemon=True).start()
        for number, job in enumerate(waiting):
            while number not in found and (left := end - time.monotonic()) > 0:
                try:
                    other, finding = done.get(timeout=left)
                except queue.Empty:
                    break
                found[other] = finding
            late = Finding("unknown", f"no answer within {seconds:g} s", "run it again on a machine that is less busy")
            yield Result(job.name, found.get(number, late), job.required)
    except BaseException:  # the program ends, or whoever asked wants no more
        kill_probes(for_good=True)
        raise
    kill_probes(for_good=False)


def _take(number: int, job: Job, done: queue.SimpleQueue[tuple[int, Finding]]) -> None:
    try:
        finding = job.call()
        if not isinstance(finding, Finding):
            finding = Finding("unknown", f"the check gave a {type(finding).__name__}, not a Finding")
    except BaseException as error:  # SystemExit among them: a check cannot end the program
        finding = Finding("unknown", f"the check failed: {describe(error)}", "report it to the plugin's author")
    done.put((number, finding))


def _offered(plugin: Plugin) -> list[Check]:
    from aworld_cli.host.offer import plugin_manager

    manager = plugin_manager()
    manager.register(plugin.module)
    offered = [check for checks in manager.hook.aworld_checks() for check in checks]
    for check in offered:
        if not isinstance(check, Check):
            raise TypeError(f"it returned a {type(check).__name__}, not a Check")
    return offered


def _loader(check: Check) -> Callable[[], Finding]:
    def call() -> Finding:
        import importlib

        module, _, attribute = check.check.partition(":")
        made: Finding = getattr(importlib.import_module(module), attribute)()
        return made

    return call


def _failed(text: str) -> Callable[[], Finding]:
    return lambda: Finding("unknown", text, "report it to the plugin's author")
