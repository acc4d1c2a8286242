"""`--min-score`: the score that a run must reach, checked against the plan before it starts and the figures at its end.

`0.8` is about pass@1 of the last stage that evaluates; `eval-grpo:pass@4=0.5` names the stage and the metric, and
either name may be left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from aworld_cli.errors import AWorldError, UsageError, did_you_mean
from aworld_cli.recipe.plan import PlannedStage
from aworld_cli.recipe.schema import CollectStage, EvalStage
from aworld_cli.report.tables import percent
from aworld_cli.run.summary import StageSummary

DEFAULT_METRIC = "pass@1"
_FORM = re.compile(r"(?:(?P<stage>[a-z0-9][a-z0-9_-]*):)?(?:(?P<metric>[^:=]+)=)?(?P<value>[^:=]+)")


@dataclass(frozen=True, slots=True)
class Threshold:
    """A stage's metric and the least value that it may have, in [0, 1]."""

    stage: str
    metric: str
    value: float

    def judge(self, summaries: Sequence[StageSummary]) -> tuple[bool, str]:
        """Return whether the run reached it, and a line that tells the figure, its interval and the threshold.

        Raises:
            AWorldError: the stage has no such figure, since no grade says what is correct.
        """
        summary = next(item for item in summaries if item.name == self.stage)
        figure = summary.metrics.get(self.metric)
        if figure is None:
            has = ", ".join(summary.metrics) or "none"
            raise AWorldError(f"{self.stage} has no {self.metric}, since no grade says what is correct; it has: {has}")
        reached = figure["value"] >= round(self.value, 6)  # as figures are
        name = f"{self.metric} (n={summary.samples})" if self.metric.startswith("pass@") else self.metric
        word = "reaches" if reached else "is below"
        return reached, f"{self.stage}: {name} {percent(figure)} {word} --min-score {100 * self.value:g} %"


def read_threshold(text: str, stages: Sequence[PlannedStage]) -> Threshold:
    """Return what `--min-score` asks for of a plan's stages.

    Raises:
        UsageError: it is not of the form, or no stage will have that figure.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--min-score {text}: write VALUE, METRIC=VALUE, STAGE:VALUE or STAGE:METRIC=VALUE")
    stage = _stage(found["stage"], stages)
    metrics = _metrics(stage)
    metric = (found["metric"] or DEFAULT_METRIC).strip()
    if metric not in metrics:
        near = did_you_mean(metric, metrics)
        more = f"; its k are {', '.join(map(str, _ks(stage)))}" if metric.startswith("pass@") else near
        raise UsageError(f"--min-score {text}: the stage {stage.name!r} will have no {metric!r}{more}")
    return Threshold(stage.name, metric, _value(text, found["value"]))


def _stage(name: str | None, stages: Sequence[PlannedStage]) -> PlannedStage:
    collecting = {stage.name: stage for stage in stages if isinstance(stage.spec, CollectStage)}
    if name is None:
        evaluating = [stage for stage in stages if isinstance(stage.spec, EvalStage)]
        if not evaluating:
            raise UsageError("--min-score: the recipe has no stage that evaluates; name a stage, as in STAGE:VALUE")
        return evaluating[-1]
    if name not in collecting:
        raise UsageError(f"--min-score: no stage that has a score is called {name!r}{did_you_mean(name, collecting)}")
    return collecting[name]


def _ks(stage: PlannedStage) -> tuple[int, ...]:
    return stage.spec.k if isinstance(stage.spec, EvalStage) else (1,)


def _metrics(stage: PlannedStage) -> list[str]:
    return [*(f"pass@{k}" for k in _ks(stage)), "reward", "tool_use"]


def _value(text: str, given: str) -> float:
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:  # false for NaN too
        raise UsageError(f"--min-score {text}: a score is a number from 0 to 1, got {given.strip()!r}")
    return value
