"""Whether a recipe could run here: its variables, components, weights, tool servers, GPUs and endpoints.

Only here does doctor use the network: one TCP connection to each endpoint that the recipe names.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aworld_cli.doctor.base import Finding, Result
from aworld_cli.doctor.gather import Job
from aworld_cli.doctor.keys import variable
from aworld_cli.doctor.network import endpoint
from aworld_cli.errors import AWorldError, MachineError, RecipeError
from aworld_cli.host.registry import Registry
from aworld_cli.recipe.document import Document
from aworld_cli.recipe.environment import references, scalars
from aworld_cli.recipe.layers import read_recipe
from aworld_cli.recipe.loading import plan_document
from aworld_cli.recipe.plan import Chosen, Plan
from aworld_cli.run.check import check_machine, check_plan, tool_server
from aworld_cli.run.masking import Mask
from aworld_cli.run.needs import Need, gather_needs


@dataclass(slots=True)
class RecipeReport:
    """What a recipe asks of this machine.

    Attributes:
        results: what is known already.
        jobs: what takes a moment: endpoints, GPUs.
        used: distribution and `kind/name` of its components.
        code: exit code that a broken recipe or plugin calls for; 0 when it has none.
    """

    results: list[Result] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    used: list[tuple[str, str]] = field(default_factory=list)
    code: int = 0

    def add(self, name: str, finding: Finding) -> None:
        """Add a line that the recipe depends on."""
        self.results.append(Result(name, finding, required=True))


def examine(path: Path, settings: Sequence[str], registry: Registry) -> RecipeReport:
    """Look at a recipe; every mistake in it becomes a line and an exit code, none is raised."""
    report = RecipeReport()
    try:
        document = read_recipe(path, settings)
    except AWorldError as error:
        _refuse(report, "recipe", error)
        return report
    missing = _variables(report, document)
    try:
        with _stand_ins(missing):
            plan = plan_document(document, registry)
            check_plan(plan, plan.environment.make())
            _describe(report, plan, missing)
    except AWorldError as error:
        if missing and isinstance(error, RecipeError):
            text = f"{path}: not all of it can be checked before {', '.join(missing)} is set"
            report.add("recipe", Finding("unknown", text))
        else:
            _refuse(report, "recipe", error)
    return report


def _refuse(report: RecipeReport, name: str, error: AWorldError) -> None:
    remedy = "correct it; `aworld validate RECIPE` looks again"
    if not isinstance(error, RecipeError):
        remedy = "`aworld plugins --check` tells what is wrong" if error.exit_code == 5 else ""
    for line in str(error).splitlines():
        report.add(name, Finding("error", line, remedy))
    if report.code == 0:
        report.code = error.exit_code


def _variables(report: RecipeReport, document: Document) -> list[str]:
    """Add a line for each variable; return those that are needed and not set."""
    defaults: dict[str, bool] = {}
    for _, text in scalars(document.value):
        try:
            found = references(text) if isinstance(text, str) else []
        except ValueError:  # the plan says so, with its place
            continue
        for reference in found:
            defaults[reference.name] = defaults.get(reference.name, True) and reference.default is not None
    for name, has_default in defaults.items():
        report.add(f"variable {name}", variable(name, has_default=has_default))
    return [name for name, has_default in defaults.items() if name not in os.environ and not has_default]


@contextmanager
def _stand_ins(names: Sequence[str]) -> Iterator[None]:
    """Set variables that are missing for a moment, so that the rest of the recipe can be checked."""
    os.environ.update(dict.fromkeys(names, "unset"))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)


def _describe(report: RecipeReport, plan: Plan, missing: Sequence[str]) -> None:
    mask = Mask(plan.document.value)
    count = len(plan.stages)
    text = f"{plan.document.source}: {count} stage{'s' if count > 1 else ''}, {len(_components(plan))} components"
    report.add("recipe", Finding("ok", text))
    for chosen in _components(plan):
        registered = chosen.registered
        name = f"{registered.component.kind}/{registered.component.name}"
        report.used.append((registered.plugin.distribution, name))
    try:
        check_machine(plan)
        report.add("weights", Finding("ok", "there, where the recipe needs any that no run makes"))
    except MachineError as error:
        for line in str(error).splitlines():
            report.add("weights", _with_remedy(line))
    for tool in plan.tools:
        server = tool_server(tool)
        report.add(f"tool {server.name}", _program(server.command, server.cwd, server.env.get("PATH"), mask))
    needs = gather_needs(plan)
    report.jobs += _endpoints(needs, mask)
    gpus = max((need.resources.gpus for need in needs), default=0)
    if gpus:
        report.jobs.append(Job("gpus", _gpus(gpus), required=True))


def _with_remedy(text: str) -> Finding:
    """Return an error whose text ends in what to do about it, after its last `;` or `: `."""
    at = max(text.rfind("; "), text.rfind(": "))
    return Finding("error", text[:at], text[at + 1 :].strip()) if at > 0 else Finding("error", text)


def _program(command: str, cwd: str | None, path: str | None, mask: Mask) -> Finding:
    where = os.path.join(cwd, command) if cwd is not None and os.sep in command else command  # noqa: PTH118
    shown = mask.hide(command)
    if shutil.which(where, path=path) is None:
        return Finding("error", f"the program {shown} is not found", "install it, or correct `command`")
    return Finding("ok", f"{shown} is there")


def _endpoints(needs: Sequence[Need], mask: Mask) -> list[Job]:
    urls = dict.fromkeys(url for need in needs for url in need.resources.endpoints)
    return [Job("endpoint", partial(endpoint, url, mask.hide(url)), required=True) for url in urls]


def _gpus(wanted: int) -> Callable[[], Finding]:
    def call() -> Finding:
        from aworld_cli.doctor.packages import cuda

        found = cuda()
        if found.status == "ok":
            there = int(found.detail.split(" ", 1)[0])
            if there < wanted:
                return Finding("error", f"{wanted} are wanted, there are {there}", "ask for fewer in the recipe")
            return Finding("ok", f"{wanted} wanted: {found.detail}")
        return Finding("error", f"{wanted} wanted: {found.detail}", found.remedy)

    return call


def _components(plan: Plan) -> list[Chosen]:
    staged = [chosen for stage in plan.stages for chosen in (stage.model, stage.trainer) if chosen is not None]
    return [plan.model, plan.agent, *plan.tools, plan.environment, plan.runtime, *plan.reporters, *staged]
