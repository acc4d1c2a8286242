"""The generated configuration against the schema of the installed verl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aworld_verl.config import build_overrides, compose_config
from aworld_verl.settings import SettingsError, TrainSettings

pytestmark = pytest.mark.filterwarnings("ignore")  # Hydra, OmegaConf and verl warn while they load


def overrides(**changes: Any) -> list[str]:
    settings = TrainSettings(model_path="/a model's dir", tasks_file="/t.json", out_dir="/out", source="a:b", **changes)
    return build_overrides(settings, settings_file=Path("/s.json"), weights_dir=Path("/w"))


def test_settings_arrive_where_verl_reads_them() -> None:
    config = compose_config(overrides(steps=5, batch=4, mini_batch=2, samples=3, lr=1e-4, clip=0.1, save_every=2))
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert config.actor_rollout_ref.model.path == "/a model's dir"
    assert (config.data.train_batch_size, actor.ppo_mini_batch_size, rollout.n) == (4, 2, 3)
    assert (actor.optim.lr, actor.clip_ratio, actor.clip_ratio_high) == (1e-4, 0.1, 0.1)
    assert (config.trainer.total_training_steps, config.trainer.save_freq) == (5, 2)
    assert config.algorithm.adv_estimator == "grpo"
    assert rollout.agent.agent_loop_manager_class == "aworld_verl.manager.AworldLoopManager"


def test_without_save_every_the_last_step_is_saved() -> None:
    assert compose_config(overrides(steps=9)).trainer.save_freq == 9


def test_no_reference_model_unless_there_is_a_kl_term() -> None:
    assert compose_config(overrides()).actor_rollout_ref.actor.use_kl_loss is False
    assert compose_config(overrides(kl=0.01)).actor_rollout_ref.actor.use_kl_loss is True


def test_own_overrides_come_last() -> None:
    assert (
        compose_config(overrides(overrides=["actor_rollout_ref.actor.optim.lr=0.5"])).actor_rollout_ref.actor.optim.lr
        == 0.5
    )


def test_an_unknown_key_is_refused_with_a_near_match() -> None:
    wrong = "actor_rollout_ref.actor.ppo_mini_batchsize=3"
    with pytest.raises(SettingsError) as caught:
        compose_config(overrides(overrides=[wrong]))
    assert "did you mean 'actor_rollout_ref.actor.ppo_mini_batch_size'?" in str(caught.value)
    assert "\n" not in str(caught.value)
