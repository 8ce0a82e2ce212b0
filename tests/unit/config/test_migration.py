from pathlib import Path

import pytest

from agentevol.config.files.migration import migrated
from agentevol.config.rewards.process import EnvironmentTurnReward
from agentevol.config.rewards.reward import EnvironmentReward, TrainedModelReward
from agentevol.config.run import RunConfig, load, load_earlier
from agentevol.config.sections.engine import EmbeddedConfig
from agentevol.config.sections.rollout import OneStepOffConfig
from agentevol.core.errors import ConfigError

EARLIER = Path(__file__).parents[2] / "support" / "earlier_config.toml"
"""As version 0.1 wrote it, before sections had alternatives."""


def edited(folder: Path, old: str, new: str) -> Path:
    text = EARLIER.read_text()
    assert old in text
    file = folder / "config.toml"
    file.write_text(text.replace(old, new, 1))
    return file


def test_a_configuration_of_an_earlier_version_is_read_without_the_settings_that_had_no_effect():
    config, lines = load_earlier(EARLIER)
    assert (config.engine, config.rollout) == (EmbeddedConfig(), OneStepOffConfig())
    assert (config.reward, config.process) == (EnvironmentReward(), EnvironmentTurnReward())
    assert (config.retained, config.probe, config.horizon) == (None, None, None)
    assert (config.environment.name, config.learn.algorithm, config.explore.samples) == ("guess", "grpo", 8)
    assert lines == [
        "engine.tensor_parallel, engine.colocated, engine.episodes, engine.cache_gib, engine.transfer,"
        " engine.lora, engine.url, engine.api_key_env: left out, no setting of engine 'embedded'",
        "rollout.max_staleness, rollout.in_flight: left out, no setting of rollout 'one_step_off'",
        "reward.model, reward.refresh, reward.learning_rate, reward.epochs, reward.alpha, reward.beta,"
        " reward.patience, reward.options, reward.caution: left out, no setting of reward 'environment'",
        "process.continuations, process.pooled, process.model, process.share, process.states,"
        " process.alpha, process.beta, process.discount, process.learning_rate, process.epochs,"
        " process.heads, process.rules, process.options: left out, no setting of process 'environment'",
        "retained.*: left out, retained.data was not given",
        "probe.*: left out, probe.data was not given",
        "horizon.*: left out, horizon.rounds was not given",
    ]
    with pytest.raises(ConfigError, match="tensor_parallel is no setting of engine 'embedded'"):
        load(EARLIER)  # a file that is not of a run is refused as before


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("max_staleness = 2", "max_staleness = 3", "rollout.max_staleness = 3"),
        ('cache_gib = "null"', "cache_gib = 4.0", "engine.cache_gib = 4.0"),
        ("share = 0.25", "share = 0.5", "process.share = 0.5"),
        ("kappa = 1.0", "kappa = 2.0", "reward.caution = "),
        ("episodes = 1000", "episodes = 10", "retained.episodes = 10"),
    ],
)
def test_a_setting_without_effect_that_somebody_changed_is_refused_by_its_name(
    tmp_path: Path, old: str, new: str, named: str
):
    with pytest.raises(ConfigError, match=f"had no effect in an earlier version: {named}"):
        load_earlier(edited(tmp_path, old, new))


def test_the_settings_of_the_chosen_alternative_are_kept(tmp_path: Path):
    file = edited(tmp_path, "refresh = false", "refresh = true")
    file.write_text(
        file.read_text()
        .replace("patience = 2", 'patience = "null"')
        .replace("rounds = []", "rounds = [3, 5]")
    )
    config, lines = load_earlier(file)
    assert config.reward == TrainedModelReward(refresh=True)
    assert config.horizon is not None
    assert config.horizon.rounds == (3, 5)
    assert "reward.patience: left out, no setting of reward 'model with reward.refresh'" in lines
    assert not any(line.startswith("horizon") for line in lines)


def test_a_key_of_another_name_is_read_from_a_run_and_refused_by_its_new_name_elsewhere(tmp_path: Path):
    config, _ = load_earlier(edited(tmp_path, 'rows = "fork"', 'rows = "per_step"'))
    assert config.select.sequences == "per_step"
    with pytest.raises(ConfigError, match=r"select\.rows is called select\.sequences now"):
        load(None, ["select.rows=per_step"])
    with pytest.raises(ConfigError, match=r"probe\.rows is called probe\.sequences now"):
        load(None, ["probe.data=x", "probe.rows=5"])


def test_a_misspelt_key_is_still_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"unknown key 'reward\.refersh'"):
        load_earlier(edited(tmp_path, "refresh = false", "refersh = false"))


@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["learn.algorithm=grpo", "reward.function=success"],
        ["learn.algorithm=ppo", "process.continuations=2", "horizon.rounds=[2]"],
        ["engine=vllm", "engine.url=http://h:1", "rollout.mode=asynchronous"],
    ],
)
def test_a_configuration_of_this_version_is_left_as_it_is(tmp_path: Path, overrides: list[str]):
    config, file = load(None, overrides), tmp_path / "config.toml"
    file.write_text(config.to_toml())
    assert load_earlier(file) == (config, [])
    values = config.model_dump(mode="json")
    assert migrated(values, RunConfig) == (values, [])
