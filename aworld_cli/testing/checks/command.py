"""What a plugin adds to the command line: `aworld NAME --help` works, and its part of `aworld doctor`."""

from __future__ import annotations

from functools import partial
from importlib import import_module

from aworld_cli.host.component import Check as Look
from aworld_cli.host.component import Command
from aworld_cli.host.loader import Plugin
from aworld_cli.host.registry import describe
from aworld_cli.testing.check import Check, fail, require


def checks(plugin: Plugin) -> list[Check]:
    """Return the checks of a plugin's command groups and of its looks at the machine."""
    found = [Check(f"command/{one.name}: shows its help", partial(_helps, one)) for one in plugin.commands]
    if hasattr(plugin.module, "aworld_checks"):
        found.append(Check("doctor: finds something", partial(_finds, plugin)))
    return found


def _helps(command: Command) -> None:
    from typer import Typer
    from typer.testing import CliRunner

    title = f"command/{command.name}"
    module, _, attribute = command.app.partition(":")
    try:
        app = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:
        fail(f"{title}: {command.app} cannot be loaded: {describe(error)}", error)
    require(isinstance(app, Typer), f"{title}: {command.app} is a {type(app).__name__}, not a typer.Typer")
    try:
        done = CliRunner().invoke(app, ["--help"])
    except Exception as error:
        fail(f"{title}: `aworld {command.name} --help` fails: {describe(error)}", error)
    if done.exit_code:
        fail(f"{title}: `aworld {command.name} --help` ends with {done.exit_code}: {done.output}", done.exception)


def _finds(plugin: Plugin) -> None:
    """Each check of the hook `aworld_checks` gives a finding, on a machine that lacks what it looks for too."""
    from aworld_cli.doctor import Finding

    known = {"*", *(f"{one.kind}/{one.name}" for one in plugin.components)}
    for look in getattr(plugin.module, "aworld_checks", list)():
        require(isinstance(look, Look), f"doctor: aworld_checks returned a {type(look).__name__}, not a host.Check")
        title = f"doctor: the check {look.name!r}"
        unknown = sorted(set(look.needed_by) - known)
        require(not unknown, f"{title} is needed by {unknown}, which the plugin does not have")
        module, _, attribute = look.check.partition(":")
        try:
            finding = getattr(import_module(module), attribute)()
        except (Exception, SystemExit) as error:
            fail(f"{title} raised {describe(error)}; a machine that lacks something is a Finding with a remedy", error)
        require(isinstance(finding, Finding), f"{title} gave a {type(finding).__name__}, not a doctor.Finding")
        said = finding.status == "ok" or finding.remedy
        require(said, f"{title} found {finding.detail!r} ({finding.status}) without a remedy; say what to do about it")
