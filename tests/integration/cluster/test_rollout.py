"""A rollout worker whose engine failed ends, so that another takes its place."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.runs import episode_request
from support.tiny_models import write_checkpoint

from agentevol.cluster.workers import rollout
from agentevol.cluster.workers.rollout import RolloutWorker
from agentevol.config.sections.engine import EmbeddedConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.protocols import Checkpoint, Sampling
from agentgym_client import EnvClient
from agentgym_envs.guess import Guess
from agentgym_server.app import create_app

REQUEST = episode_request(task_id="guess-1", seed=1)


class Left(BaseException):
    """Stands in for the end of the process."""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def leave(code: int) -> None:
        raise Left(code)

    monkeypatch.setattr(rollout.os, "_exit", leave)
    folder = write_checkpoint(tmp_path / "model")
    world = EnvironmentConfig(name="guess")
    made: Any = RolloutWorker(EmbeddedConfig(), world, "http://127.0.0.1:1", Checkpoint(folder, 0))
    app = httpx.ASGITransport(create_app({"guess": Guess}))
    made._client = EnvClient("http://127.0.0.1:1", transport=app)
    yield made
    made._engine.close()


async def test_an_episode_that_meets_a_failed_engine_ends_its_process(
    worker: Any, monkeypatch: pytest.MonkeyPatch
):
    def fail(_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(worker._engine._model, "logits", fail)
    with pytest.raises(Left):
        await asyncio.wait_for(worker.play(REQUEST, Sampling()), 30)


async def test_an_episode_is_sampled_at_its_own_temperature(worker: Any):
    async def played(temperature: float | None, policy: float) -> Any:
        request = replace(REQUEST, temperature=temperature)
        (found,) = await asyncio.wait_for(worker.play(request, Sampling(temperature=policy)), 30)
        return found

    own, hot, cold = await played(0.5, 1.0), await played(None, 1.0), await played(None, 0.5)
    assert (own.temperature, hot.temperature) == (0.5, None)
    assert [turn.sample for turn in own.turns] == [turn.sample for turn in cold.turns]
    assert [turn.sample for turn in own.turns] != [turn.sample for turn in hot.turns]


async def test_an_episode_with_a_sound_engine_is_played(worker: Any):
    (played,) = await asyncio.wait_for(worker.play(REQUEST, Sampling()), 30)
    assert played.ending.kind != "failed"
