"""Presets of methods: what they set, what goes over them, and how the arms of a comparison differ."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from agentevol.cli import run
from agentevol.config.presets.methods import METHODS, method_settings
from agentevol.config.rewards.reward import PreferenceModelReward
from agentevol.config.run import load
from agentevol.core.errors import ConfigError

ENVIRONMENTS = ("social", "sotopia", "guess")


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def differences(one: str, other: str, env: str = "social") -> dict[str, tuple[Any, Any]]:
    """Settings of two presets that differ."""
    first, second = (
        dict(flat(load(None, [f"env={env}"], preset=name).model_dump(mode="json"))) for name in (one, other)
    )
    return {
        key: (first.get(key), second.get(key))
        for key in sorted({*first, *second})
        if first.get(key) != second.get(key)
    }


THINKING = [name for name in METHODS if name.startswith("aml")]
RLHF = [name for name in METHODS if name.startswith("rlhf")]


@pytest.mark.parametrize("env", ENVIRONMENTS)
@pytest.mark.parametrize("name", THINKING)
def test_every_method_is_a_configuration(name: str, env: str):
    config = load(None, [f"env={env}"], preset=name)
    assert config.base == f"starter:{env}-modes"
    assert config.environment.format.startswith("modes")
    assert config.environment.seats == 1
    for key, value in flat(method_settings(name, env)):
        if key not in ("algorithm", "learn.options.mode_weight"):
            assert dict(flat(config.model_dump()))[key] == value


def test_aml_is_ampo_after_cloning_in_all_modes():
    config = load(None, ["env=social"], preset="aml")
    assert config.learn.algorithm == "ampo"
    assert config.learn.options == {
        "compare": "turn",
        "credit": "episode",
        "singleton": "zero",
        "length_target": 24.0,
        "length_span": 8.0,
        "kl_coef": 0.05,
    }
    assert (config.learn.learning_rate, config.learn.batch_tokens) == (2e-4, 32768)
    assert (config.explore.samples, config.explore.temperature) == (16, 1.0)
    assert (config.learn.reference, config.environment.format) == ("base", "modes")
    paper = load(None, ["env=sotopia"], preset="aml")
    assert (paper.learn.options["length_target"], paper.learn.options["length_span"]) == (250.0, 75.0)
    assert paper.learn.learning_rate == 3e-7


def test_baselines_differ_in_what_they_say_and_in_nothing_else():
    assert differences("aml", "aml-grpo") == {"learn.options.mode_weight": (None, 0.0)}
    for mode in (1, 2, 3, 4):
        assert differences("aml-grpo", f"aml-mode-{mode}") == {
            "environment.format": ("modes", f"modes-{mode}")
        }
    supervised = differences("aml", "aml-sft")
    assert supervised["learn.algorithm"] == ("ampo", "sft")
    assert (supervised["select.rule"], supervised["select.k"]) == (("all", "best_of"), (1, 2))
    assert not [key for key in supervised if key.split(".")[0] in ("environment", "explore", "evaluate")]


@pytest.mark.parametrize("name", RLHF)
def test_every_method_of_rlhf_begins_with_one_clone_and_has_as_many_samples(name: str):
    config = load(None, preset=name)
    assert (config.environment.name, config.base) == ("questions", "starter:questions")
    assert config.demonstrations == load(None, preset="rlhf").demonstrations
    assert config.demonstrations.clone
    assert (config.iterations, config.explore.tasks, config.explore.samples) == (12, 192, 8)
    file = load(None, ["env=questions:some.jsonl", "base=folder"], preset=name)
    assert (file.environment.options, file.base) == ({"file": "some.jsonl"}, "folder")
    assert load(None, ["env=guess"], preset=name).base == "starter:guess"


def test_rlhf_is_ppo_near_the_clone_on_a_reward_model_of_its_first_rounds():
    config = load(None, preset="rlhf")
    assert isinstance(config.reward, PreferenceModelReward)
    assert (config.reward.preference_rounds, config.reward.exploited_after) == (6, 2)
    assert (config.reward_learn.optimiser, config.learn.optimiser) == ("muon", "adamw")
    assert (config.learn.algorithm, config.learn.reference) == ("ppo", "base")
    assert config.kl is not None
    assert (config.kl.target, config.learn.options["kl_coef"]) == (0.05, 0.05)
    others = {name: load(None, preset=name) for name in RLHF}
    assert {name: one.learn.algorithm for name, one in others.items()} == {
        "rlhf": "ppo",
        "rlhf-grpo": "grpo",
        "rlhf-dpo": "dpo",
        "rlhf-adpo": "adpo",
    }
    assert not any(others[name].reward.initial_model for name in RLHF)
    assert not others["rlhf-grpo"].reward.on


def test_a_method_without_an_environment_of_its_own_keeps_that_of_runs():
    assert load(None, preset="aml").environment.name == "alfworld"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["iterations=6"], "reward.preference_rounds = 6 leaves the policy none of 6 iterations"),
        (["reward.preference_rounds=0"], "reward: preference_rounds = 0 trains no reward model: give model"),
        (["reward.refresh=true"], "reward.preference_rounds is no setting of reward 'model with reward.ref"),
        (["select.score=reward"], "a reward model of the run trains on pairs of selected episodes"),
    ],
)
def test_a_preference_model_that_nothing_learns_from_is_refused(settings: list[str], complaint: str):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load(None, ["env=guess", *settings], preset="rlhf")


def test_a_file_goes_over_a_method_and_an_override_over_both(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text("[explore]\ntasks = 3\nsamples = 5\n[environment]\nname = 'social'\n")
    config = load(file, ["explore.samples=7", "learn.options.length_target=30.0"], preset="aml")
    assert (config.explore.tasks, config.explore.samples) == (3, 7)
    assert config.learn.options["length_target"] == 30.0
    assert config.learn.options["length_span"] == 8.0  # that of the environment which the file names
    assert load(None, ["env=social", "base=folder"], preset="aml").base == "folder"


def test_a_method_and_a_placement_go_together():
    config = load(None, ["env=social"], preset=["aml", "one-gpu"])
    assert (config.learn.algorithm, config.engine.name) == ("ampo", "vllm")
    assert config.learn.lora is not None
    # the one given last goes over the others
    assert load(None, ["env=social"], preset=["aml", "aml-grpo"]).learn.options["mode_weight"] == 0.0


def test_another_algorithm_than_the_methods_does_not_take_its_options():
    with pytest.raises(ConfigError, match="compare"):
        load(None, ["env=social", "algorithm=grpo"], preset="aml")


def test_a_resolved_configuration_is_an_input_of_its_own(tmp_path: Path):
    config = load(None, ["env=social"], preset="aml")
    file = tmp_path / "config.toml"
    file.write_text(config.to_toml())
    assert load(file) == config


def test_the_starter_of_a_format_is_that_of_its_environment():
    assert load(None, ["env=social", "environment.format=modes-2"]).base == "starter:social-modes"
    assert (
        load(None, ["env=social", "environment.format=modes", "base=starter"]).base == "starter:social-modes"
    )
    assert load(None, ["env=social"]).base == "starter:social"
    assert load(None, ["env=guess", "environment.format=modes"]).base == "starter:guess"  # has none in modes


def test_help_names_every_method():
    (_, option) = get_args(run.Preset)
    modes = " ".join(f"aml-mode-{mode}" for mode in range(1, 5))
    told = option.help.replace("aml-mode-1 to aml-mode-4", modes)
    assert set(METHODS) <= set(re.findall(r"[\w-]+", told))
