"""`model: {kind: local}`: a Hugging Face checkpoint on this machine's CPU."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from aworld_cli.errors import EpisodeError, MachineError
from aworld_cli.model import Generation, ModelContext, SamplingParams
from aworld_cli.model.codec import Codec
from aworld_cli.resources import Resources
from aworld_local.client import WorkerClient, WorkerDied, WorkerFailed, worker_resources
from aworld_local.models import find_model


class CreateConfig(BaseModel):
    """A policy that is made from the recipe's seed when the run begins."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hidden: int = Field(128, ge=8, le=4_096, description="Width.")
    layers: int = Field(2, ge=1, le=64, description="Transformer layers.")
    heads: int = Field(8, ge=1, le=64, description="Attention heads; they divide `hidden`.")
    vocabulary: int = Field(400, ge=300, le=65_536, description="Most tokens, all 256 bytes among them.")

    @model_validator(mode="after")
    def _heads_divide(self) -> CreateConfig:
        if self.hidden % (2 * self.heads):
            raise ValueError(f"hidden ({self.hidden}) must be a multiple of twice the heads ({self.heads})")
        return self


class LocalConfig(BaseModel):
    """Options of `model: {kind: local}`; exactly one of `path` and `create`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str | None = Field(
        None, description="A Hugging Face directory, or the name of a model that `aworld models` fetched."
    )
    create: CreateConfig | None = Field(None, description="Make a tiny policy from the recipe's seed instead.")
    threads: int = Field(1, ge=1, le=256, description="CPU threads of inference.")
    max_batch: int = Field(256, ge=1, le=4_096, description="Most requests that are computed together.")

    @model_validator(mode="after")
    def _one_source(self) -> LocalConfig:
        if (self.path is None) == (self.create is None):
            raise ValueError("give `path` or `create`, one of the two")
        return self


class LocalModel:
    """A `TokenModel` whose engine runs in the run's worker process."""

    codec: Codec

    def __init__(self, config: LocalConfig, context: ModelContext) -> None:
        self.config = config
        self.context = context
        self.name = config.path or "local"
        self.worker = WorkerClient.shared(context.shared, context.run_dir)

    def resources(self) -> Resources:
        """The run's worker, which it shares with the trainer `sft`."""
        return replace(worker_resources(self.config.threads), limits=("max_batch",))

    def check(self) -> None:
        """See `HasCheckpoint.check`."""
        if self.context.checkpoint is None and self.config.path is not None:
            find_model(self.config.path)

    async def ensure_checkpoint(self) -> Path:
        """Return the checkpoint's directory, made first if the recipe says so, without loading it.

        Raises:
            MachineError: it is not there, or cannot be made.
        """
        if self.context.checkpoint is not None:
            return self.context.checkpoint
        if self.config.path is not None:
            return find_model(self.config.path)
        return await self._create()

    async def start(self) -> None:
        """Load the checkpoint into the engine. Raises MachineError."""
        path = await self.ensure_checkpoint()
        self.codec = Codec(path)
        self.path = path
        await self.worker.open(path, self.config.threads, self.config.max_batch)

    async def close(self) -> None:
        """The worker stays for the stages to come; the run closes it."""

    async def generate(self, prompt_ids: list[int], params: SamplingParams, request_id: str) -> Generation:
        """See `TokenModel.generate`; a worker that died is started again."""
        if not self.worker.holds(self.path, self.config.threads, self.config.max_batch):
            try:
                await self.worker.open(self.path, self.config.threads, self.config.max_batch)
            except MachineError as error:
                raise EpisodeError("model", str(error)) from error
        ids, logprobs, stop = await self.worker.generate(
            {
                "prompt_ids": prompt_ids,
                "max_tokens": params.max_tokens,
                "temperature": params.temperature,
                "top_p": params.top_p,
                "seed": params.seed,
                "stop_ids": tuple(self.codec.end_ids),
            }
        )
        if stop == "abort":
            raise EpisodeError("model", "the local model was stopped")
        return Generation(ids, logprobs, "length" if stop == "length" else "stop")

    async def _create(self) -> Path:
        path = self.context.run_dir / "checkpoints" / "base" / "hf"
        if path.is_dir():
            return path
        assert self.config.create is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        options = self.config.create.model_dump()
        corpus = list(self.context.corpus())
        try:
            await self.worker.ask("create", path=os.fspath(path), corpus=corpus, seed=self.context.seed, **options)
        except (WorkerDied, WorkerFailed) as error:
            raise MachineError(f"the policy cannot be made: {error}; see {self.worker.log}") from error
        return path


def local(config: LocalConfig, context: ModelContext) -> LocalModel:
    """Make the model."""
    return LocalModel(config, context)
