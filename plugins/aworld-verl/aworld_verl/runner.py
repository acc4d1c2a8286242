"""Runs verl's own `main_ppo` path for one set of settings, inside the driver process."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path
from typing import Any

from aworld_verl.checkpoint import export
from aworld_verl.config import build_overrides, compose_config
from aworld_verl.cpu import policy
from aworld_verl.cpu.platform import check_loaded
from aworld_verl.events import emit
from aworld_verl.host import EpisodeHost
from aworld_verl.ray_host import Scratch
from aworld_verl.settings import TrainSettings, dump_settings
from aworld_verl.steps import StepFeed


def load_everything() -> None:
    """Import what a run needs, so that it is there when the settings arrive."""
    import transformers.models.llama.modeling_llama  # noqa: F401
    import verl.trainer.main_ppo
    import verl.trainer.ppo.v1  # noqa: F401

    import aworld_verl.cpu.external
    import aworld_verl.manager  # noqa: F401

    check_loaded()


def open_queue() -> None:
    """Start TransferQueue's processes; verl's own `init` later finds and uses them."""
    import transfer_queue
    from omegaconf import OmegaConf

    transfer_queue.init(OmegaConf.create({"backend": {"SimpleStorage": {"num_data_storage_units": 1}}}))


class _Remote:
    """Looks like a Ray method to `run_ppo`, but calls in this process."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def remote(self, *args: Any) -> Any:
        """Call now; the result is an object reference, as the caller expects."""
        import ray

        return ray.put(self._function(*args))


class LocalTaskRunner:
    """verl's `TaskRunnerV1`, run where we are: one process less that imports verl.

    It also puts verl's trainer, our manager and the sampling engine into one process, so that no
    sampled token passes through Ray.
    """

    def __init__(self) -> None:
        from verl.trainer.main_ppo import TaskRunnerV1

        self.run = _Remote(TaskRunnerV1.__ray_metadata__.modified_class().run)

    @classmethod
    def remote(cls) -> LocalTaskRunner:
        """What `run_ppo` calls to make the actor."""
        return cls()


def train(settings: TrainSettings, scratch: Scratch) -> None:
    """Train and leave a Hugging Face directory; emits `step` events and, once it is there, `done`."""
    out = Path(settings.out_dir)
    out.mkdir(parents=True, exist_ok=True)
    settings_file = out / "verl-settings.json"
    dump_settings(settings, settings_file)
    sampling = policy.start(
        settings.model_path,
        scratch.weights,
        threads=settings.threads,
        max_batch=settings.batch * settings.samples,
        verify=settings.verify_weights,
    )
    host = EpisodeHost.get(settings)
    _seed(settings.seed)
    finish = _Finish(settings, scratch.weights)
    try:
        config = compose_config(build_overrides(settings, settings_file=settings_file, weights_dir=scratch.weights))
        with StepFeed(settings.steps, finish) as feed:
            os.environ["VERL_FILE_LOGGER_PATH"] = feed.path
            _run(config)
        finish()
    finally:
        host.close()
        sampling.close()


def _run(config: Any) -> None:
    """What verl's `main_ppo.main` does with a composed configuration."""
    from verl.trainer.main_ppo import run_ppo
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    with warnings.catch_warnings(action="ignore"):
        validate_config(config, need_reference_policy(config), need_critic(config))
        run_ppo(config, LocalTaskRunner)


class _Finish:
    """Exports the weights and emits `done`, once: after the last step, or when verl had no step to do."""

    def __init__(self, settings: TrainSettings, weights_dir: Path) -> None:
        self._settings = settings
        self._weights_dir = weights_dir
        self._error: BaseException | None = None
        self._done = False

    def __call__(self) -> None:
        if self._error is not None:
            raise self._error
        if self._done:
            return
        try:
            emit("done", checkpoint=str(export(self._settings, self._weights_dir)), steps=self._settings.steps)
            self._done = True
        except BaseException as error:
            self._error = error


def _seed(seed: int) -> None:
    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)
