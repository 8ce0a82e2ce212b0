"""Demonstrations in thinking modes: played in a real server, and encoded whole."""

from collections import Counter
from pathlib import Path

import pytest
from support.runs import episode_request

from agentevol.config.run import load
from agentevol.core.action_formats.registry import action_format
from agentevol.loop.stages.cloning import settled
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.models.resolution import resolve
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.expert_demonstrations import demonstrate, demonstration_sequences
from agentgym_envs.registry import make
from agentgym_envs.thinking import check
from agentgym_store.records import MESSAGE


def test_the_thinking_player_is_cloned_in_all_modes(tmp_path: Path):
    base = resolve("starter:social-modes")
    config = load(None, ["env=social", f"base={base.path}"], preset="aml")
    social = make("social")
    tasks = social.tasks("train")[:24]
    social.close()
    facts = {"env": "social", "purpose": "demonstrate", "iteration": 0}
    requests = [
        episode_request(id=f"d{number}", task_id=task.id, seed=number, **facts)
        for number, task in enumerate(tasks)
    ]
    with EnvironmentServer(config.environment, tmp_path / "log") as server:
        played = demonstrate(config.environment, server.url, requests)
    turns = [turn for episode in played for turn in episode.turns]
    replies = [check(str(turn.info[MESSAGE]), strict=True) for turn in turns]
    assert set(Counter(reply.mode for reply in replies)) == {1, 2, 3, 4}
    assert not any(turn.info.get("invalid_action") for turn in turns)
    assert sum(episode.total_reward or 0.0 for episode in played) > 0.3 * len(
        played
    )  # it knows what it wants
    renderer = ChatRenderer(load_tokenizer(base.path))
    form = action_format("modes")
    for episode, sequence in zip(played, demonstration_sequences(played, base, config), strict=True):
        learnt = renderer.text(sequence.token_ids[sequence.mask].tolist())
        assert learnt.count("Thinking Level: ") == len(episode.turns)
        assert all(form.parse(str(turn.info[MESSAGE])) == turn.action for turn in episode.turns)


def test_beside_a_model_the_player_plays_with_the_partner_that_it_knows():
    """The endpoint is not there: nobody asks it."""
    base = resolve("starter:social-modes")
    nobody = 'environment.options.partner_model={"base_url":"http://127.0.0.1:9/v1","model":"m"}'
    config = load(None, ["env=sotopia", f"base={base.path}", nobody], preset="aml")
    sotopia = make("sotopia", actions="text")
    tasks = sotopia.tasks("train")[:4]
    sotopia.close()
    facts = {"env": "sotopia", "purpose": "demonstrate", "iteration": 0}
    requests = [episode_request(id=task.id, task_id=task.id, seed=1, **facts) for task in tasks]
    played = demonstrate(config.environment, "http://127.0.0.1:9", requests)
    assert [episode.ending.kind for episode in played] == ["terminated"] * 4
    assert all(MESSAGE in turn.info for episode in played for turn in episode.turns)


@pytest.mark.parametrize("preset", ["aml", "aml-grpo", "aml-sft", "aml-mode-3"])
def test_an_agent_is_not_cloned_again(tmp_path: Path, preset: str):
    config = load(None, ["env=social"], preset=preset)
    assert config.demonstrations.tasks == 4000
    agent = settled(config, resolve("starter:social-modes").path)
    assert (agent.demonstrations.tasks, agent.demonstrations.clone) == (0, False)
    (tmp_path / "config.toml").write_text(agent.to_toml())
    assert load(tmp_path / "config.toml") == agent
    raw = settled(config, tmp_path)
    assert (raw.demonstrations.tasks, raw.demonstrations.clone) == (4000, True)
