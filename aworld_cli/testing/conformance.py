"""The conformance kit: what the host and its users rely on, as checks that a plugin's own tests run."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from aworld_cli.host.component import KINDS
from aworld_cli.host.loader import GROUP, Plugin, load_plugins
from aworld_cli.host.registry import Registered
from aworld_cli.testing.check import Check, Failed, fail
from aworld_cli.testing.subject import Subject


class Conformance:
    """The checks of one installed plugin.

    Args:
        plugin: its entry point's name, or its distribution's.
        options: options of components, by `kind/name`; those that have no defaults need them to be run. They are read
            when a check runs, so a fixture may put in what is known only then (a port).
        recipe: a recipe that uses the plugin (a path, or its text): it is run twice and must give the same both
            times. It is how a trainer is really run, which the other checks only ask for its settings.
    """

    def __init__(
        self,
        plugin: str,
        *,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        recipe: str | Path | None = None,
    ) -> None:
        self.name = plugin
        self.options = dict(options or {})
        self.recipe = recipe

    def checks(self) -> list[Check]:
        """Return the plugin's checks, to be parametrised over; a plugin that does not load has one that says why.

        Raises:
            ValueError: `options` name a component that the plugin does not have.
        """
        try:
            point, plugin = find(self.name)
        except Failed as error:
            return [_failing("loads", str(error))]
        from aworld_cli.testing.checks import plugin as of_plugin

        checks = of_plugin.checks(point, plugin)
        if plugin.status == "ok":
            for subject in self._subjects(plugin):
                checks += _component_checks(subject)
            from aworld_cli.testing.checks import command

            checks += command.checks(plugin) + _hook_checks(plugin)
            if self.recipe is not None:
                from aworld_cli.testing.checks import recipe as of_recipe

                checks += of_recipe.checks(self.recipe)
        return checks

    def _subjects(self, plugin: Plugin) -> list[Subject]:
        subjects: list[Subject] = []
        for component in plugin.components:
            options = self.options.get(f"{component.kind}/{component.name}")
            subjects.append(Subject(Registered(component, plugin), options, subjects))
        known = [subject.title for subject in subjects]
        unknown = [title for title in self.options if title not in known]
        if unknown:
            raise ValueError(f"the plugin {self.name!r} has no {unknown[0]!r}; it has {', '.join(known) or 'nothing'}")
        return subjects


def find(name: str) -> tuple[importlib.metadata.EntryPoint, Plugin]:
    """Return the entry point of this name, or of this distribution, and what came of loading it.

    Raises:
        Failed: there is none, or there are several.
    """
    points = importlib.metadata.entry_points(group=GROUP)
    found = {
        (point.dist.name if point.dist else "unknown", point.name): point
        for point in points
        if name in (point.name, point.dist.name if point.dist else "unknown")
    }
    if len(found) != 1:
        known = ", ".join(sorted({point.name for point in points}))
        several = " and ".join(f"{point} of {owner}" for owner, point in sorted(found))
        fail(
            f"several plugins are called {name!r} ({several}); give the name that only one has"
            if found
            else f"no installed distribution has the entry point {name!r} in the group {GROUP!r} (there are {known}); "
            f"install the plugin (pip install -e .), and see [project.entry-points.{GROUP}] in its pyproject.toml"
        )
    ((owner, called), point) = next(iter(found.items()))
    others = {other.name for other in points} - {called}
    loaded = load_plugins(disabled=others)
    return point, next(plugin for plugin in loaded if (plugin.distribution, plugin.name) == (owner, called))


def _component_checks(subject: Subject) -> list[Check]:
    from aworld_cli.testing.checks import component, options

    checks = component.checks(subject) + options.checks(subject)
    if subject.component.kind in KINDS:
        of_kind: Callable[[Subject], list[Check]]
        of_kind = import_module(f"aworld_cli.testing.checks.{subject.component.kind}").checks
        checks += of_kind(subject)
    return checks


def _hook_checks(plugin: Plugin) -> list[Check]:
    """Event hooks hear a run as a reporter does."""
    from aworld_cli.reporter.audience import HookReporter, hook_reporters

    if not hook_reporters([(plugin.name, plugin.module)]):
        return []
    from aworld_cli.testing.checks.reporter import of_reporter

    return of_reporter("event hooks", lambda: HookReporter(plugin.name, plugin.module))


def _failing(name: str, text: str) -> Check:
    return Check(name, lambda: fail(text))
