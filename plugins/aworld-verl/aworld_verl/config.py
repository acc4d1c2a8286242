"""The verl configuration of a run: Hydra overrides, composed against the installed verl's schema."""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from aworld_verl.cpu.constants import ROLLOUT_NAME
from aworld_verl.settings import SettingsError, TrainSettings

_HERE = Path(__file__).parent


def build_overrides(s: TrainSettings, *, settings_file: Path, weights_dir: Path) -> list[str]:
    """The overrides of `ppo_trainer` for one training process on the CPU.

    `settings_file` is where the settings can be read again (verl's schema has no room for them);
    `weights_dir` is where weight versions are handed over.
    """
    parts = (
        _data(s),
        _model(s),
        _actor(s),
        _rollout(s, settings_file, weights_dir),
        _algorithm(s),
        _trainer(s),
    )
    return [line for part in parts for line in part] + list(s.overrides)


def _data(s: TrainSettings) -> list[str]:
    return [
        f"data.train_files={_quote(s.tasks_file)}",
        f"data.val_files={_quote(s.tasks_file)}",
        "data.val_max_samples=1",
        "data.custom_cls.path=pkg://aworld_verl.dataset",
        "data.custom_cls.name=TaskDataset",
        f"data.train_batch_size={s.batch}",
        f"data.max_prompt_length={s.prompt_length}",
        f"data.max_response_length={s.response_length}",
        f"data.shuffle={s.shuffle_tasks}",
        f"data.seed={s.seed}",
        "data.dataloader_num_workers=0",
    ]


def _model(s: TrainSettings) -> list[str]:
    model = "actor_rollout_ref.model"
    return [
        f"{model}.path={_quote(s.model_path)}",
        f"{model}.external_lib=aworld_verl.cpu.external",
        f"+{model}.override_config.attn_implementation=sdpa",
        f"{model}.enable_gradient_checkpointing=False",
        f"{model}.use_remove_padding={s.packing}",
    ]


def _actor(s: TrainSettings) -> list[str]:
    actor = "actor_rollout_ref.actor"
    engines = [line for role in (actor, "actor_rollout_ref.ref") for line in _engine(role)]
    return [
        *engines,
        f"{actor}.ppo_mini_batch_size={s.mini_batch}",
        f"{actor}.use_dynamic_bsz=True",
        f"{actor}.ppo_max_token_len_per_gpu={s.max_batch_tokens}",
        f"{actor}.clip_ratio={s.clip}",
        f"{actor}.clip_ratio_low={s.clip}",
        f"{actor}.clip_ratio_high={s.clip}",
        f"{actor}.entropy_coeff={s.entropy}",
        f"{actor}.use_kl_loss={s.kl > 0}",
        f"{actor}.kl_loss_coef={s.kl}",
        f"{actor}.loss_agg_mode=token-mean",
        f"{actor}.grad_clip={s.grad_clip}",
        f"{actor}.data_loader_seed={s.seed}",
        f"{actor}.optim.lr={s.lr}",
        f"{actor}.optim.weight_decay={s.weight_decay}",
        f"{actor}.optim.clip_grad={s.grad_clip}",
        f"{actor}.optim.lr_scheduler_type=constant",
        f"{actor}.checkpoint.save_contents=[model,optimizer,extra]",
        f"{actor}.checkpoint.load_contents=[model,optimizer,extra]",
    ]


def _engine(role: str) -> list[str]:
    precision = "{param_dtype:fp32,reduce_dtype:fp32,buffer_dtype:fp32}"
    return [
        f"{role}.strategy=fsdp2",
        f"{role}.use_torch_compile=False",
        f"{role}.fsdp_config.model_dtype=fp32",
        f"{role}.fsdp_config.dtype=float32",
        f"{role}.fsdp_config.use_torch_compile=False",
        f"{role}.fsdp_config.reshard_after_forward=False",
        f"+{role}.fsdp_config.mixed_precision={precision}",
    ]


def _rollout(s: TrainSettings, settings_file: Path, weights_dir: Path) -> list[str]:
    rollout = "actor_rollout_ref.rollout"
    return [
        f"{rollout}.name={ROLLOUT_NAME}",
        f"{rollout}.n={s.samples}",
        f"{rollout}.temperature={s.temperature}",
        f"{rollout}.top_p={s.top_p}",
        f"{rollout}.seed={s.seed}",
        f"{rollout}.dtype=float32",
        f"{rollout}.tensor_model_parallel_size=1",
        f"{rollout}.free_cache_engine=False",
        f"{rollout}.calculate_log_probs=True",
        f"{rollout}.router_config_path={_quote(str(_HERE / 'cpu' / 'router.yaml'))}",
        f"{rollout}.agent.num_workers=1",
        f"+{rollout}.agent.agent_loop_manager_class=aworld_verl.manager.AworldLoopManager",
        f"+{rollout}.custom.settings={_quote(str(settings_file))}",
        f"+{rollout}.custom.weights_dir={_quote(str(weights_dir))}",
    ]


def _algorithm(s: TrainSettings) -> list[str]:
    return [
        "algorithm.adv_estimator=grpo",
        f"algorithm.rollout_correction.bypass_mode={s.old_logprobs == 'rollout'}",
        "critic.enable=False",
        "reward.num_workers=0",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
    ]


def _trainer(s: TrainSettings) -> list[str]:
    return [
        "trainer.device=cpu",
        "trainer.nnodes=1",
        "trainer.n_gpus_per_node=1",
        "trainer.logger=[file]",
        "trainer.project_name=aworld",
        "trainer.experiment_name=grpo",
        "trainer.val_before_train=False",
        "trainer.test_freq=-1",
        f"trainer.total_training_steps={s.steps}",
        f"trainer.total_epochs={s.steps}",
        f"trainer.save_freq={s.save_every or s.steps}",
        f"trainer.max_actor_ckpt_to_keep={s.keep_checkpoints or 'null'}",
        f"trainer.default_local_dir={_quote(str(s.checkpoint_dir))}",
        f"trainer.resume_mode={'auto' if s.resume == 'auto' else 'disable'}",
        "trainer.v1.trainer_mode=sync",
        "trainer.v1.sampler.custom_sampler.path=pkg://aworld_verl.sampler",
        "trainer.v1.sampler.custom_sampler.name=WakingReplayBuffer",
    ]


def compose_config(overrides: list[str]) -> Any:
    """verl's `ppo_trainer` with `overrides`; SettingsError with a near match for an unknown key."""
    from hydra import compose, initialize_config_dir
    from hydra.errors import HydraException

    spec = importlib.util.find_spec("verl")  # found without being imported, which takes seconds
    if spec is None or not spec.submodule_search_locations:
        raise SettingsError("verl is not installed: pip install verl==0.9.1")
    with initialize_config_dir(str(Path(spec.submodule_search_locations[0], "trainer", "config")), version_base=None):
        try:
            return compose("ppo_trainer", overrides=overrides)
        except HydraException as error:
            known = list(_keys(compose("ppo_trainer")))
            raise SettingsError(_explain(str(error), known)) from error


def _explain(message: str, known: list[str]) -> str:
    found = re.search(r"Could not override '([^']+)'", message)
    if not found:
        return "verl refused the configuration: " + message.splitlines()[0]
    key = found.group(1)
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.8)
    hint = f"; did you mean {near[0]!r}?" if near else "; to add a new key write it with a leading '+'"
    return f"verl has no setting {key!r}{hint}"


def _keys(node: Any, prefix: str = "") -> Iterable[str]:
    from omegaconf import DictConfig

    for name in node:
        yield prefix + str(name)
        child = node._get_node(name)
        if isinstance(child, DictConfig) and not child._is_none() and not child._is_missing():
            yield from _keys(child, f"{prefix}{name}.")


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
