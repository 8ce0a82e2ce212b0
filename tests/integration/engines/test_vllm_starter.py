"""The starter policy says the same with vLLM as with the embedded engine, in episodes of its own world."""

import asyncio
from typing import Any

import httpx
import pytest

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Sampling
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.engines.vllm.engine import VllmEngine
from agentevol.models.resolution import resolve
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.episode import EpisodeRequest
from agentgym_client import EnvClient
from agentgym_envs.formats import FORMATS
from agentgym_envs.registry import environment_class
from agentgym_server import create_app
from agentgym_store.records import Trajectory

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)
pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]
EPISODES, TURNS = 8, 15
ROUNDING = 1e-4


def request(number: int, task: Any) -> EpisodeRequest:
    return EpisodeRequest(
        id=f"e{number}",
        run="r",
        iteration=0,
        purpose="evaluate",
        env="alfworld",
        task_id=task.task_id,
        split=task.split,
        kind=task.kind,
        difficulty=task.difficulty,
        instruction=task.instruction,
        seed=number,
        attempt=0,
        max_turns=TURNS,
    )


async def episodes(engine: Any) -> dict[str, Trajectory]:
    policy = engine.serve(Sampling(temperature=0.0, max_new_tokens=16))
    app = create_app({"alfworld": environment_class("alfworld")})
    async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as client:
        page = await client.tasks("alfworld", "test", difficulty="medium", limit=EPISODES)
        asked = [request(number, task) for number, task in enumerate(page.tasks)]
        playing = play_all(client, policy, asked, FORMATS["plain"], concurrency=EPISODES)
        return {episode.id: episode async for episode in playing}


def test_greedy_episodes_are_the_same_token_for_token():
    starter, played = resolve("starter"), list[dict[str, Trajectory]]()
    for engine in (EmbeddedEngine(starter, slots=EPISODES, threads=1), VllmEngine(starter, slots=EPISODES)):
        try:
            played.append(asyncio.run(episodes(engine)))
        finally:
            engine.close()
    ours, theirs = played
    assert ours.keys() == theirs.keys()
    assert len(ours) == EPISODES
    for name, episode in ours.items():
        pairs = [(a.sample, b.sample) for a, b in zip(episode.turns, theirs[name].turns, strict=True)]
        assert len(pairs) > 3
        for a, b in pairs:
            assert (a.prompt_ids, a.token_ids) == (b.prompt_ids, b.token_ids)
            assert a.logprobs == pytest.approx(b.logprobs, abs=ROUNDING)
