"""Settings against forgetting: refused where nothing would come of them."""

import re

import pytest

from agentevol.config.run import TrainConfig, load
from agentevol.core.errors import ConfigError

RUN = [
    (["learn.ewc.strength=0.1"], "learn.ewc needs training sequences to keep"),
    (["learn.ewc.strength=0", "demonstrations.tasks=5"], "learn.ewc.strength"),
    (["learn.ewc.fisher=batch", "demonstrations.tasks=5"], "learn.ewc.fisher"),
    (["learn.ewc.strength=1", "demonstrations.tasks=5", "learn.lora.rank=4"], "set lora.keep = true"),
    (["learn.ewc.decay=0.5", "demonstrations.tasks=5"], "decay has no effect without online"),
    (["learn.ewc.online=true", "demonstrations.tasks=5", "start=base"], "set start = 'latest'"),
    (["learn.ewc.online=true", "demonstrations.tasks=5", "iterations=1"], "there is one stage"),
    (["learn.interpolation=0.5", "learn.lora.keep=true"], "interpolation mixes whole weights"),
    (["interpolate.shares=[0.5]", "learn.interpolation=0.5"], "interpolate.shares chooses what"),
    (["interpolate.shares=[0.5]", "learn.lora.keep=true"], "interpolate.shares mixes whole weights"),
    (["interpolate.shares=[0.5, 0.5]"], "shares are tried once each"),
    (["interpolate.shares=[1.0]"], "interpolate.shares"),
    (["probe.sequences=5"], "probe.data: Field required"),
    (["learn.distillation_form=full"], "distillation_form has no effect without distillation"),
    (["replay.fraction=0.3"], "replay.* has no effect without select.merge = 'replay'"),
    (["select.merge=replay", "replay.fraction=1"], "replay.fraction"),
    (["select.merge=replay", "replay.fraction=0.1", "replay.floor=0.2"], "floor 0.2 lies above fraction 0.1"),
    (["select.merge=replay", "iterations=1"], "no effect in one iteration"),
    (["algorithm=grpo", "select.merge=replay"], "it needs select.merge = 'none'"),
    (["learn.distillation=0.5"], "learn.distillation has no effect without replayed sequences"),
    (["algorithm=dpo", "learn.distillation=0.5"], "dpo learns from pairs, never replayed"),
    (["learn.distillation=-1"], "learn.distillation"),
    (["learn.interpolation=1"], "learn.interpolation"),
    (["retained.data=runs/a"], "retained.data has no effect without select.merge = 'replay' or learn.ewc"),
    (["retained.episodes=5"], "retained.data: Field required"),
    (["select.max_lag=4", "select.merge=expert"], "select.max_lag has no effect"),
    (["algorithm=grpo", "select.max_lag=4"], "select.max_lag has no effect"),
    (["select.max_lag=-1"], "select.max_lag"),
    (["protect.easy.episodes=1"], "protect.easy.episodes"),
    (["protect.easy.point=0.1"], "protect.easy.point"),
]


@pytest.mark.parametrize(("overrides", "complaint"), RUN)
def test_a_setting_with_nothing_to_act_on_is_refused(overrides: list[str], complaint: str):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load(None, overrides)


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (["select.merge=replay"], "no effect without retained.data"),
        (["learn.ewc.strength=1"], "learn.ewc needs training sequences"),
        (["algorithm=bradley_terry", "learn.interpolation=0.5"], "makes a reward model"),
        (["select.merge=cumulative"], "there is one data set"),
        (["algorithm=process_reward", "select.max_lag=4"], "select.max_lag has no effect"),
    ],
)
def test_learning_once_has_the_same_refusals(overrides: list[str], complaint: str):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load(None, overrides, TrainConfig)


@pytest.mark.parametrize(
    "overrides",
    [
        ["algorithm=grpo", "learn.ewc.strength=1", "retained.data=runs/a"],
        ["algorithm=grpo", "learn.ewc.strength=1", "demonstrations.tasks=5"],
        ["select.merge=replay", "learn.distillation=0.5", "learn.interpolation=0.5", "select.max_lag=0"],
        ["select.merge=replay", "learn.lora.rank=4", "learn.distillation=0.5"],
        ["learn.ewc.strength=1", "demonstrations.tasks=5", "learn.lora.keep=true", "learn.shards=2"],
        ["learn.ewc.online=true", "demonstrations.tasks=5", "learn.ewc.decay=0.5"],
        ["select.merge=replay", "learn.distillation=0.5", "learn.distillation_form=full"],
        ["algorithm=ppo", "protect.easy.difficulty=easy", "learn.interpolation=0.9"],
    ],
)
def test_what_can_take_effect_loads_and_survives_its_file(overrides: list[str], tmp_path):
    config = load(None, overrides)
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml") == config


def test_a_process_reward_model_is_held_to_nothing():
    config = load(
        None, ["algorithm=grpo", "process.continuations=2", "learn.interpolation=0.5"]
    ).process_learn
    assert (config.ewc, config.interpolation) == (None, None)


@pytest.mark.parametrize(
    ("name", "in_a_run", "once"),
    [
        ("grpo", None, 4),
        ("ppo", None, 4),
        ("gigpo", None, 4),
        ("agentevol", None, None),
        ("sft", None, None),
        ("dpo", None, None),
        ("kto", None, None),
    ],
)
def test_only_policy_gradients_that_learn_from_a_table_leave_out_what_is_stale_unasked(
    name: str, in_a_run: int | None, once: int | None
):
    assert load(None, [f"algorithm={name}"]).select.max_lag == in_a_run
    assert load(None, [f"algorithm={name}"], TrainConfig).select.max_lag == once
    assert load(None, [f"algorithm={name}", "select.max_lag=null"], TrainConfig).select.max_lag is None
    assert load(None, [f"algorithm={name}", "select.max_lag=9"], TrainConfig).select.max_lag == 9
