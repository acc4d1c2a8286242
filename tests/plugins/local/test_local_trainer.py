"""The trainer `sft`: from records to a checkpoint, in the run's worker."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest

from aworld_cli.errors import AWorldError, MachineError
from aworld_cli.model import ModelContext, SamplingParams
from aworld_cli.recipe.plan import Plan
from aworld_cli.trainer import StageProgress, TrainerContext
from aworld_local.client import WorkerClient
from aworld_local.model import LocalConfig, local
from aworld_local.trainer import SftConfig, SftTrainer

pytestmark = pytest.mark.usefixtures("no_strays")


def record(answer: int, mask: int = 1) -> dict[str, Any]:
    sequence = {
        "prompt_ids": [3, answer, 1, 4],
        "response_ids": [answer, 1],
        "loss_mask": [mask, mask],
        "logprobs": None,
    }
    return {"sequences": [sequence]}


def train(
    policy: Path,
    run: Path,
    records: list[dict[str, Any]],
    *,
    meanwhile: Callable[[WorkerClient, StageProgress], None] = lambda client, progress: None,
    after: Callable[[TrainerContext], Awaitable[None]] | None = None,
    **options: Any,
) -> tuple[Any, list[StageProgress]]:
    """Run a stage; `meanwhile` is called at each report of progress."""
    said: list[StageProgress] = []
    shared: dict[str, Any] = {}

    def report(progress: StageProgress) -> None:
        said.append(progress)
        meanwhile(cast(WorkerClient, shared["local-worker"]), progress)

    context = TrainerContext(
        plan=cast(Plan, None),
        stage="sft",
        stage_dir=run / "stages" / "01-sft",
        checkpoint=policy,
        output=run / "checkpoints" / "sft" / "hf",
        seed=0,
        logs=run / "logs",
        records=lambda: records,
        tasks=list,
        report=report,
        shared=shared,
    )

    async def main() -> Any:
        trainer = SftTrainer(SftConfig(**{"steps": 20, "batch": 4, "lr": 1e-2, **options}))
        try:
            await trainer.prepare(context)
            result = await trainer.train(context)
            if after is not None:
                await after(context)
            return result
        finally:
            for value in shared.values():
                await value.close()

    return asyncio.run(asyncio.wait_for(main(), 100)), said


def test_a_stage_leaves_a_checkpoint_and_figures(policy: Path, tmp_path: Path) -> None:
    async def sample(context: TrainerContext) -> None:
        """What was open before a stage trains can be used after it."""
        model = local(LocalConfig(path=str(policy)), ModelContext(tmp_path, 0, shared=context.shared))
        await model.start()
        await SftTrainer(SftConfig(steps=1)).train(context)
        await model.start()
        assert (await model.generate([9], SamplingParams(1.0, 1.0, 1, 0), "r")).ids

    result, said = train(policy, tmp_path, [record(20), record(21), record(22, mask=0)], after=sample)
    assert result.steps == 20
    assert result.metrics["sequences"] == 2 and result.metrics["loss"] < 5
    assert said[0].total == 20 and said[0].figures["loss"] > 0
    assert {path.name for path in (tmp_path / "checkpoints" / "sft" / "hf").iterdir()} == {
        path.name for path in policy.iterdir()
    }


@pytest.mark.parametrize("records", [[], [{"sequences": []}], [record(20, mask=0)]])
def test_nothing_to_learn_from_is_said(policy: Path, tmp_path: Path, records: list[dict[str, Any]]) -> None:
    with pytest.raises(AWorldError, match="no trajectory is kept that holds tokens; see `keep`"):
        train(policy, tmp_path, records)


def test_a_killed_worker_ends_the_stage_and_leaves_no_checkpoint(policy: Path, tmp_path: Path) -> None:
    def kill(client: WorkerClient, progress: StageProgress) -> None:
        assert client._process is not None
        os.kill(client._process.pid, signal.SIGKILL)

    with pytest.raises(MachineError, match=r"died.*local-worker\.log"):
        train(policy, tmp_path, [record(20)], meanwhile=kill, steps=100_000)
    assert not (tmp_path / "checkpoints" / "sft" / "hf").exists()
