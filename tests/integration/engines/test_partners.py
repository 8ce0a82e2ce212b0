"""Players of the seats beside the policy's, as `environment.partner` names them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.server.environments import Duel
from support.tiny_models import write_checkpoint

from agentevol.cluster.workers import rollout
from agentevol.cluster.workers.rollout import RolloutWorker
from agentevol.config.sections.engine import EmbeddedConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, Conversation, Sampling
from agentevol.rollout.engine_factory import partner_player
from agentevol.rollout.episode import EpisodeRequest
from agentgym_client import EnvClient
from agentgym_envs.core import Observation
from agentgym_envs.formats import FORMATS
from agentgym_server.app import create_app

REQUEST = EpisodeRequest(
    id="e", run="r", iteration=1, purpose="explore", env="duel", task_id="train/0", split="train", kind="",
    difficulty="", instruction="", seed=3, attempt=0, max_turns=2, seats=2, policy_seat=0,
)  # fmt: skip
GREEDY = Sampling(temperature=0.0, max_new_tokens=2)


async def test_self_play_has_no_partner_and_a_script_speaks_the_action_format():
    engine = EmbeddedConfig()
    assert partner_player(EnvironmentConfig(name="duel"), engine, FORMATS["plain"]) is None
    scripted = partner_player(EnvironmentConfig(name="duel", partner="spray"), engine, FORMATS["react"])
    assert scripted is not None
    shown = Conversation("e", [], observation=Observation(text="", actions=("say", "stop")))
    assert "Action:" in (await scripted.serve(GREEDY).act(shown, 0)).text
    assert scripted.serve(GREEDY).name == "spray"


def test_a_model_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="no model 'nowhere'"):
        partner_player(EnvironmentConfig(partner="nowhere"), EmbeddedConfig(), FORMATS["plain"])


def test_the_starter_is_that_of_the_environment():
    with pytest.raises(ConfigError, match="no starter policy for 'duel'"):  # and not that of alfworld
        partner_player(EnvironmentConfig(name="duel", partner="starter"), EmbeddedConfig(), FORMATS["plain"])
    assert EnvironmentConfig(name="duel", partner="starter:alfworld").partner_model == "starter:alfworld"


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Any]:
    """A rollout worker with a policy, and a partner with other weights."""
    own, other = (write_checkpoint(tmp_path / str(seed), seed=seed) for seed in (0, 1))
    world = EnvironmentConfig(name="duel", seats=2, partner=str(other))
    made: Any = RolloutWorker(EmbeddedConfig(slots=4), world, "http://127.0.0.1:1", Checkpoint(own, 0))
    made._client = EnvClient("http://127.0.0.1:1", transport=httpx.ASGITransport(create_app({"duel": Duel})))
    yield made
    made._engine.close()
    made._partner.engine.close()


async def test_a_model_plays_with_weights_of_its_own(worker: Any):
    left, right = await worker.play(REQUEST, GREEDY)
    same, swapped = await worker.play(replace(REQUEST, id="f", policy_seat=1), GREEDY)
    assert [one.purpose for one in (left, right, same, swapped)] == [
        "explore",
        "partner",
        "partner",
        "explore",
    ]
    assert {one.ending.kind for one in (left, right, same, swapped)} == {"truncated"}
    # the first turn of the first seat, by the policy and then by the partner
    prompts = [one.turns[0].sample.prompt_ids for one in (left, same)]
    said = [one.turns[0].sample.token_ids for one in (left, same)]
    assert prompts[0] == prompts[1]
    assert said[0] != said[1]


async def test_a_partner_whose_engine_failed_ends_the_process(worker: Any, monkeypatch: pytest.MonkeyPatch):
    def fail(_: object) -> None:
        raise RuntimeError("out of memory")

    left: list[int] = []
    monkeypatch.setattr(rollout.os, "_exit", left.append)
    monkeypatch.setattr(worker._partner.engine._model, "logits", fail)
    await worker.play(REQUEST, GREEDY)
    assert left == [1]
    assert not worker._engine.lost


async def test_an_episode_may_name_its_partner(worker: Any, tmp_path: Path):
    made = Checkpoint(write_checkpoint(tmp_path / "0002", seed=2), 2)
    _, other = await worker.play(replace(REQUEST, partner=made), GREEDY)
    assert (other.policy, {turn.sample.policy_version for turn in other.turns}) == ("0002", {2})
    _, own = await worker.play(REQUEST, GREEDY)  # the environment's partner, for episodes that name none
    assert own.policy == "1"
    assert [turn.action for turn in own.turns] != [turn.action for turn in other.turns]
    _, script = await worker.play(replace(REQUEST, partner="idle"), GREEDY)
    assert (script.policy, script.turns[0].sample) == ("idle", None)
    left, right = await worker.play(replace(REQUEST, partner=Checkpoint(tmp_path / "gone", 3)), GREEDY)
    assert {one.ending.failure for one in (left, right)} == {"policy"}
    for engine in worker._partners:
        engine.close()
