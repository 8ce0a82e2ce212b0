import re
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Tag, ValidationError

from agentevol.config.rewards.process import (
    ContinuationProcess,
    EnvironmentTurnReward,
    FrozenProcess,
    PooledProcess,
)
from agentevol.config.rewards.reward import EnvironmentReward, FunctionReward, ModelReward, TrainedModelReward
from agentevol.config.run import RunConfig, load
from agentevol.config.sections.alternatives import complaint, tagged_by
from agentevol.config.sections.engine import CustomEngineConfig, EmbeddedConfig, VllmConfig, VllmServersConfig
from agentevol.config.sections.rollout import AsynchronousConfig, OneStepOffConfig, SynchronousConfig
from agentevol.core.errors import ConfigError


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Circle(Strict):
    shape: Literal["circle"] = "circle"
    radius: int = 1


class Square(Strict):
    shape: Literal["square"] = "square"
    side: int = 1


class Drawing(Strict):
    figure: Annotated[
        Annotated[Circle, Tag("circle")] | Annotated[Square, Tag("square")],
        tagged_by("shape", "circle", "square"),
    ] = Circle()


class Page(Strict):
    drawing: Drawing = Drawing()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"drawing": {"figure": {"side": 2}}},
            "drawing.figure.side is no setting of drawing.figure 'circle'; it belongs to: square",
        ),
        (
            {"drawing": {"figure": {"shape": "square", "radius": 2}}},
            "drawing.figure.radius is no setting of drawing.figure 'square'; it belongs to: circle",
        ),
        ({"drawing": {"figure": {"width": 2}}}, "unknown key 'drawing.figure.width'"),
        ({"drawing": {"side": 2}}, "unknown key 'drawing.side'"),
        ({"side": 2}, "unknown key 'side'"),
        ({"drawing": {"figure": {"shape": "line"}}}, "drawing.figure: shape is one of: circle, square"),
        (
            {"drawing": {"figure": {"radius": "x"}}},
            "drawing.figure.radius: Input should be a valid integer, unable to parse string as an integer",
        ),
    ],
)
def test_a_complaint_names_the_key_and_the_alternative_that_has_it(given, sentence: str):
    with pytest.raises(ValidationError) as refused:
        Page.model_validate(given)
    assert [complaint(Page, error) for error in refused.value.errors()] == [sentence]


@pytest.mark.parametrize(
    ("overrides", "kind"),
    [
        ([], EmbeddedConfig),
        (["engine.name=embedded"], EmbeddedConfig),
        (["engine=vllm", "engine.cache_gib=4"], VllmConfig),
        (["engine.name=vllm", "engine.url=http://h:1", "engine.episodes=50"], VllmServersConfig),
        (["engine=engines:mine", "engine.options.depth=3", "engine.gpus=1"], CustomEngineConfig),
    ],
)
def test_the_engine_is_chosen_by_its_name_and_url(overrides: list[str], kind: type, tmp_path):
    config = load(None, overrides)
    assert type(config.engine) is kind
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml") == config
    assert RunConfig.model_validate(config.model_dump()) == config


def test_an_engine_of_anothers_has_no_settings_of_ours():
    refused = "engine.cache_gib is no setting of engine 'an engine of your own'; it belongs to: vllm"
    with pytest.raises(ConfigError, match=re.escape(refused)):
        load(None, ["engine=engines:mine", "engine.cache_gib=4"])
    with pytest.raises(ConfigError, match="no engine named 'sglang'; there are: embedded, vllm"):
        load(None, ["engine=sglang"])


@pytest.mark.parametrize(
    ("overrides", "kind", "ahead"),
    [
        ([], SynchronousConfig, 0),
        (["rollout.mode=one_step_off"], OneStepOffConfig, 1),
        (["rollout.mode=asynchronous", "rollout.max_staleness=3"], AsynchronousConfig, 3),
    ],
)
def test_the_schedule_is_chosen_by_its_mode(overrides: list[str], kind: type, ahead: int):
    rollout = load(None, overrides).rollout
    assert (type(rollout), rollout.rounds_ahead) == (kind, ahead)


@pytest.mark.parametrize(
    ("overrides", "kind", "model"),
    [
        ([], EnvironmentReward, None),
        (["reward.function=success", "reward.patience=null"], FunctionReward, None),
        (["reward.model=rm", "reward.caution.kappa=2"], ModelReward, "rm"),
        (["reward.refresh=true"], TrainedModelReward, None),
        (["reward.refresh=true", "reward.model=rm"], TrainedModelReward, "rm"),
        (["algorithm=bradley_terry", "reward.epochs=2"], TrainedModelReward, None),
    ],
)
def test_the_source_of_scores_is_chosen_by_its_key(
    overrides: list[str], kind: type, model: str | None, tmp_path
):
    config = load(None, ["learn.algorithm=grpo", *overrides])
    assert (type(config.reward), config.reward.initial_model) == (kind, model)
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml") == config


@pytest.mark.parametrize(
    ("overrides", "kind", "heads"),
    [
        ([], EnvironmentTurnReward, {}),
        (["process.continuations=2", "process.states=1"], ContinuationProcess, {"outcome": 1.0}),
        (["process.pooled=true", "process.heads.safety=2"], PooledProcess, {"outcome": 1.0, "safety": 2.0}),
        (["process.model=p", "process.heads={safety=1,outcome=0}"], FrozenProcess, {"safety": 1.0}),
    ],
)
def test_the_source_of_values_is_chosen_by_its_key(
    overrides: list[str], kind: type, heads: dict[str, float], tmp_path
):
    config = load(None, ["algorithm=ppo", *overrides])
    assert (type(config.process), config.process.model_heads) == (kind, heads)
    (tmp_path / "config.toml").write_text(config.to_toml())
    assert load(tmp_path / "config.toml") == config


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (
            ["reward.function=success", "reward.refresh=true"],
            "reward.function is no setting of reward",
        ),
        (["reward.refresh=false"], "reward.refresh is no setting of reward 'environment'"),
        (["process.continuations=0"], "process.continuations is no setting of process 'environment'"),
        (["process.pooled=true", "process.model=p", "process.states=3"], "it belongs to: continuations"),
        (["reward.functon=success"], "unknown key 'reward.functon'"),
    ],
)
def test_a_setting_of_another_source_is_refused(overrides: list[str], sentence: str):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        load(None, ["algorithm=ppo", *overrides])


def test_an_unknown_schedule_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match="mode is one of: synchronous, one_step_off, asynchronous"):
        load(None, ["rollout.mode=never"])


def test_a_preset_and_a_file_keep_what_the_chosen_engine_has(tmp_path):
    assert load(None, [], preset="one-gpu").engine == VllmConfig(
        workers=1, colocated=True, slots=64, dtype="bfloat16"
    )
    with pytest.raises(ConfigError, match=r"engine\.colocated is no setting of engine 'embedded'"):
        load(None, ["engine=embedded"], preset="one-gpu")
    (tmp_path / "run.toml").write_text('[engine]\nname = "vllm"\nurl = "http://h:1"\n')
    assert load(tmp_path / "run.toml", ["engine.slots=3"]).engine == VllmServersConfig(
        url="http://h:1", slots=3
    )
