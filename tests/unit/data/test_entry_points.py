"""Rewards, judges and engines of another distribution: by entry points that pip would have installed."""

import asyncio
from pathlib import Path

import pytest
from support.distributions import install

from agentevol.config.rewards.registries import JUDGES, POTENTIALS, REWARDS, TURN_REWARDS
from agentevol.config.run import load
from agentevol.config.sections.engine import ENGINES, CustomEngineConfig
from agentevol.core.errors import ConfigError
from agentevol.core.extensions import Extensions
from agentevol.core.judges import JudgedEpisode, JudgedTurn, Verdict
from agentevol.data.judges.judging import judge_of
from agentevol.data.rewards.potentials import histories, potential_of
from agentevol.data.rewards.reward_functions import episode_scores, reward_function
from agentevol.data.rewards.testing import example_episodes
from agentevol.data.rewards.turn_rewards import turn_reward, turn_rewards

CODE = """
from agentevol.core.judges import Verdict

def long(episodes, *, scale: float = 1.0):
    return [scale * len(episode.turns) for episode in episodes]

def depth(history):
    return float(len(history.turns))

def doubled(reward, observation, action):
    return 2 * reward + 1

class Mild:
    version, scale, stochastic = "1", (0.0, 1.0), False

    async def judge(self, episode):
        return Verdict(0.5, "mild", {"turns": float(len(episode.turns))})

    async def close(self):
        pass

class Engine:
    pass
"""
GROUPS = {
    "agentevol.rewards": {"long": "long", "success": "long"},
    "agentevol.shapings": {"depth": "depth", "new_observations": "depth"},
    "agentevol.turn_rewards": {"doubled": "doubled", "turn_cost": "doubled"},
    "agentevol.judges": {"mild": "Mild", "rubric": "Mild"},
    "agentevol.engines": {"swift": "Engine", "embedded": "Engine"},
}


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", "foreign_parts", CODE, GROUPS)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


@pytest.mark.parametrize(
    ("registry", "own", "foreign", "module"),
    [
        (REWARDS, "success", "long", "agentevol.data.rewards.reward_functions"),
        (POTENTIALS, "new_observations", "depth", "agentevol.data.rewards.potentials"),
        (TURN_REWARDS, "turn_cost", "doubled", "agentevol.data.rewards.turn_rewards"),
        (JUDGES, "rubric", "mild", "agentevol.data.judges.rubric"),
        (ENGINES, "embedded", "swift", "agentevol.engines.embedded.engine"),
    ],
)
def test_an_entry_point_adds_an_object_and_replaces_none(
    registry: Extensions, own: str, foreign: str, module: str
):
    assert registry.names() == sorted({*registry.own, foreign})
    assert registry.load(foreign).__module__ == "foreign_parts"
    assert registry.load(own).__module__ == module
    with pytest.raises(ConfigError, match=f"no {registry.kind} named 'other'; there are: .*{foreign}"):
        registry.checked("other")


def test_a_configuration_names_them_and_they_are_called():
    given = ["algorithm=ppo", "reward.function=long", "reward.options.scale=2.0", "shaping.potential=depth"]
    assert load(None, given).shaping.potential == "depth"
    (episode,) = example_episodes(0, 1)
    turns = len(episode.turns)
    assert episode_scores("long", reward_function("long", {"scale": 2.0}), [episode]) == {
        episode.id: 2.0 * turns
    }
    assert [potential_of("depth")(state) for state in histories(episode)] == list(range(turns + 1))
    assert load(None, ["algorithm=ppo", "shaping.reward=doubled"]).shaping.reward == "doubled"
    assert turn_rewards("doubled", turn_reward("doubled"), episode) == tuple(
        2 * turn.reward + 1 for turn in episode.turns
    )


def test_a_judge_and_an_engine_are_named_like_ours():
    config = load(None, ["algorithm=grpo", "reward.judge=mild", "engine=swift", "engine.options.depth=3"])
    assert config.engine == CustomEngineConfig(name="swift", options={"depth": 3})
    episode = JudgedEpisode("house", "t", "Go.", "Hall.", (JudgedTurn("go", "Out."),))
    assert asyncio.run(judge_of("mild").judge(episode)) == Verdict(0.5, "mild", {"turns": 1.0})
