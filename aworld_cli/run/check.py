"""What a plan needs of its environment and its tools, checked before anything starts.

`aworld validate`, `--dry-run` and `aworld run` all call `check_plan`, so that they agree.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from aworld_cli.environment.base import Environment, Task
from aworld_cli.errors import MachineError, PluginError, Problem, RecipeError, did_you_mean
from aworld_cli.model.base import HasCheckpoint, ModelContext
from aworld_cli.recipe.document import KeyPath
from aworld_cli.recipe.plan import Chosen, Plan, PlannedStage
from aworld_cli.recipe.schema import CollectStage, TrainStage
from aworld_cli.run.masking import unsaid
from aworld_cli.tool.base import StdioServer
from aworld_cli.trainer.base import Trainer


def check_plan(plan: Plan, environment: Environment) -> dict[str, list[Task]]:
    """Check splits, numbers of tasks, task ids, trainers' options and tool servers; return each stage's tasks by name.

    Args:
        environment: what `plan.environment.make()` gave.

    Raises:
        RecipeError: there is no such split, it has too few tasks, or two tool servers have one name; a line each.
        PluginError: the environment or a tool breaks its contract.
    """
    with unsaid(plan.document.value):
        return _check_plan(plan, environment)


def _check_plan(plan: Plan, environment: Environment) -> dict[str, list[Task]]:
    problems: list[Problem] = []
    found: dict[str, list[Task]] = {}
    for stage in plan.stages:
        if isinstance(stage.spec, CollectStage | TrainStage):
            try:
                found[stage.name] = select_tasks(plan, stage, environment)
            except RecipeError as error:
                problems += error.problems or (Problem(str(error)),)  # an environment may raise one of its own
    for stage in plan.stages:
        if stage.trainer is not None:
            problems += _trainer_problems(plan, stage, found.get(stage.name, []))
    named: set[str] = set()
    for tool in plan.tools:
        name = tool_server(tool).name
        if name in named:
            problems.append(_at(plan, tool.path, f"two tool servers are called {name!r}; give one another `name`"))
        named.add(name)
    for reporter in plan.reporters:
        reporter.make()
    if problems:
        raise RecipeError.of(problems)
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
        raise RecipeError.of([_at(plan, (*path, "split"), text + (near if "did you mean" in near else ""))])
    with registered.blamed(f"listing the tasks of its split {spec.split!r}"):
        tasks = list(environment.tasks(spec.split, spec.tasks))
        ids = Counter(task.id for task in tasks)
    twice = [task for task, count in ids.items() if count > 1]
    if twice:
        more = f" (and {len(twice) - 1} more)" if len(twice) > 1 else ""
        text = f"has two tasks with the id {twice[0]!r}{more} in its split {spec.split!r}; an id is for one task"
        raise PluginError(f"{registered.title} {text}")
    if not tasks:
        raise RecipeError.of([_at(plan, (*path, "tasks"), f"the split {spec.split!r} has no tasks")])
    if spec.tasks is not None and len(tasks) < spec.tasks:
        text = f"{spec.tasks} tasks are asked for, the split {spec.split!r} has {len(tasks)}"
        raise RecipeError.of([_at(plan, (*path, "tasks"), text)])
    return tasks


def _trainer_problems(plan: Plan, stage: PlannedStage, tasks: list[Task]) -> list[Problem]:
    assert stage.trainer is not None
    trainer: Trainer = stage.trainer.make()
    with stage.trainer.registered.blamed("checking its options"):
        problems = trainer.check(plan, len(tasks))
    path = ("stages", stage.index - 1, stage.key)
    found = [_at(plan, (*path, option), text) for option, text in problems.items()]
    if not isinstance(_model(plan, plan.model), HasCheckpoint):
        name = plan.model.registered.component.name
        text = f"{name} has no weights of its own, which {stage.name!r} would train; use one that has, such as `local`"
        found.append(_at(plan, ("model",), text))
    return found


def check_machine(plan: Plan) -> None:
    """Check what this machine must hold for the plan: the weights of its models.

    Raises:
        MachineError: something is not there; the text says how to get it.
    """
    with unsaid(plan.document.value):
        for chosen in (plan.model, *(stage.model for stage in plan.stages if stage.model is not None)):
            model = _model(plan, chosen)
            if isinstance(model, HasCheckpoint):
                try:
                    model.check()
                except MachineError as error:
                    raise MachineError.of([_at(plan, chosen.path, str(error))]) from error


def _model(plan: Plan, chosen: Chosen) -> object:
    return chosen.make(ModelContext(run_dir=Path(), seed=plan.recipe.seed))


def tool_server(tool: Chosen) -> StdioServer:
    """Return the server that a tool component describes.

    Raises:
        PluginError: it describes none.
    """
    server = tool.make()
    if not isinstance(server, StdioServer):
        raise PluginError(f"{tool.registered.title} made a {type(server).__name__}, not a StdioServer")
    words = [server.command, *server.args] if isinstance(server.args, tuple | list) else [server.args]
    if not all(isinstance(word, str) for word in words):
        raise PluginError(f"{tool.registered.title}: the command and each of the args of its server must be text")
    return server


def _at(plan: Plan, path: KeyPath, text: str) -> Problem:
    return plan.document.problem(path, text)
