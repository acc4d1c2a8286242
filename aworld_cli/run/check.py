"""What a plan needs of its environment and its tools, checked before anything starts.

`aworld validate`, `--dry-run` and `aworld run` all call `check_plan`, so that they agree.
"""

from __future__ import annotations

from collections import Counter

from aworld_cli.environment.base import Environment, Task
from aworld_cli.errors import PluginError, RecipeError, did_you_mean
from aworld_cli.recipe.document import KeyPath
from aworld_cli.recipe.environment import dotted
from aworld_cli.recipe.loading import Chosen, Plan, PlannedStage
from aworld_cli.recipe.schema import CollectStage, TrainStage
from aworld_cli.tool.base import StdioServer


def check_plan(plan: Plan, environment: Environment) -> dict[str, list[Task]]:
    """Check splits, numbers of tasks, task ids and tool servers, and return the tasks of each stage by its name.

    Args:
        environment: what `plan.environment.make()` gave.

    Raises:
        RecipeError: there is no such split, it has too few tasks, or two tool servers have one name; a line each.
        PluginError: the environment or a tool breaks its contract.
    """
    problems: list[str] = []
    found: dict[str, list[Task]] = {}
    for stage in plan.stages:
        if isinstance(stage.spec, CollectStage | TrainStage):
            try:
                found[stage.name] = select_tasks(plan, stage, environment)
            except RecipeError as error:
                problems.append(str(error))
    named: set[str] = set()
    for tool in plan.tools:
        name = tool_server(tool).name
        if name in named:
            problems.append(_at(plan, tool.path, f"two tool servers are called {name!r}; give one another `name`"))
        named.add(name)
    if problems:
        raise RecipeError("\n".join(problems))
    return found


def select_tasks(plan: Plan, stage: PlannedStage, environment: Environment) -> list[Task]:
    """Return the tasks that a stage asks for (see `check_plan` for what is raised)."""
    spec = stage.spec
    assert isinstance(spec, CollectStage | TrainStage)
    path = ("stages", stage.index - 1, stage.key)
    registered = plan.environment.registered
    with registered.blamed("listing its splits"):
        splits = list(environment.splits())
    if spec.split not in splits:
        text = f"the environment has no split {spec.split!r}; it has {', '.join(splits)}"
        near = did_you_mean(spec.split, splits)
        raise RecipeError(_at(plan, (*path, "split"), text + (near if "did you mean" in near else "")))
    with registered.blamed(f"listing the tasks of its split {spec.split!r}"):
        tasks = list(environment.tasks(spec.split, spec.tasks))
        ids = Counter(task.id for task in tasks)
    twice = [task for task, count in ids.items() if count > 1]
    if twice:
        more = f" (and {len(twice) - 1} more)" if len(twice) > 1 else ""
        text = f"has two tasks with the id {twice[0]!r}{more} in its split {spec.split!r}; an id is for one task"
        raise PluginError(f"{registered.title} {text}")
    if not tasks:
        raise RecipeError(_at(plan, (*path, "tasks"), f"the split {spec.split!r} has no tasks"))
    if spec.tasks is not None and len(tasks) < spec.tasks:
        text = f"{spec.tasks} tasks are asked for, the split {spec.split!r} has {len(tasks)}"
        raise RecipeError(_at(plan, (*path, "tasks"), text))
    return tasks


def tool_server(tool: Chosen) -> StdioServer:
    """Return the server that a tool component describes.

    Raises:
        PluginError: it describes none.
    """
    server = tool.make()
    if not isinstance(server, StdioServer):
        raise PluginError(f"{tool.registered.title} made a {type(server).__name__}, not a StdioServer")
    return server


def _at(plan: Plan, path: KeyPath, text: str) -> str:
    return f"{plan.document.where(path)}: {dotted(path)}: {text}"
