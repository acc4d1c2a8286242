"""Which episodes of a run an export holds, and their rows one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aworld_cli.archive.overview import episodes_of
from aworld_cli.archive.store import StoredRun, StoredStage
from aworld_cli.errors import UsageError
from aworld_cli.recipe.keep import compile_keep
from aworld_cli.run.directory import read_json
from aworld_cli.trajectory.export import chat_rows, flat_row, token_rows

Form = Literal["flat", "chat", "tokens"]
_LEARNT_FROM = ("rollout", "train")


@dataclass(slots=True)
class Export:
    """An export; `episodes` and `kept` count as its rows are taken.

    Args:
        keep: takes a record; None keeps all.
    """

    run: StoredRun
    form: Form
    stages: list[StoredStage]
    keep: Callable[[Mapping[str, Any]], bool] | None
    original: bool = False
    episodes: int = 0
    kept: int = 0

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield rows in the journals' order.

        Raises:
            MachineError: a line is damaged; nothing is left out unsaid.
            UsageError: tokens are asked for, and no episode holds any.
        """
        holding = 0
        for stage in self.stages:
            tools = read_json(stage.path / "tools.json")
            for record in episodes_of(stage, original=self.original):
                self.episodes += 1
                holding += bool(record.get("sequences"))
                if self.keep is not None and not self.keep(record):
                    continue
                rows = list(self._rows(stage, record, tools))
                self.kept += bool(rows)
                yield from rows
        if self.form == "tokens" and self.episodes and not holding:
            raise UsageError("no episode holds tokens: its model takes and gives text; --to sft has the messages")

    def _rows(self, stage: StoredStage, record: dict[str, Any], tools: Any) -> Iterator[dict[str, Any]]:
        if self.form == "chat":
            yield from chat_rows(record, run=self.run.name, stage=stage.name, tools=tools)
        elif self.form == "tokens":
            yield from token_rows(record, run=self.run.name, stage=stage.name)
        else:
            yield flat_row(record, run=self.run.name, stage=stage.name, kind=stage.kind)


def make_export(run: StoredRun, form: Form, stage: str | None, keep: str | None, *, original: bool = False) -> Export:
    """Choose what is exported. For training (`chat`, `tokens`) evaluations are left out unless one is named.

    Raises:
        UsageError: `keep` is no expression over records, or there is nothing to export.
    """
    try:
        chosen = None if keep is None else compile_keep(keep)
    except ValueError as error:
        raise UsageError(f"--keep: {error}") from error
    found = [run.stage(stage)] if stage is not None else [item for item in run.stages if item.journal.exists()]
    if stage is None and form != "flat":
        found = [item for item in found if item.kind in _LEARNT_FROM]
    if not found or not found[0].journal.exists():
        evaluations = [item.name for item in run.stages if item.kind == "eval" and item.journal.exists()]
        hint = f"; to learn from an evaluation, name it: --stage {evaluations[0]}" if evaluations else ""
        raise UsageError(f"{run.name} has no episodes to export{hint if stage is None else ''}")
    return Export(run, form, found, chosen, original)
