"""Playing a split once with one model, outside of a run: what `agentevol eval` does."""

import asyncio
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentevol.config.sections import EnvironmentConfig
from agentevol.engines.scripted import SCRIPTED, scripted_policy
from agentevol.errors import ConfigError
from agentevol.loop.explore import EpisodeRequest, play_all
from agentevol.models import resolve
from agentevol.protocols import Policy, Sampling
from agentevol.serving import EnvironmentServer
from agentevol.tasks import EnvTask, list_tasks, spread
from agentgym_client import EnvClient
from agentgym_envs.formats import FORMATS
from agentgym_envs.registry import make
from agentgym_store.records import Trajectory

SLOTS = 64
MAX_NEW_TOKENS = 16

Report = Callable[[Sequence[Trajectory]], None]


def trial(
    model: str,
    environment: EnvironmentConfig,
    split: str,
    *,
    difficulty: str | None,
    episodes: int | None,
    temperature: float,
    max_new_tokens: int = MAX_NEW_TOKENS,
    seed: int,
    started: Callable[[int], Report],
    chat_template_kwargs: Mapping[str, Any] | None = None,
) -> list[Trajectory]:
    """Play `episodes` tasks, evenly over a split (None: all), with `model`; the trajectories in the order of
    tasks.

    `started` is told the number of episodes and gives a function that hears of each batch. Raises
    `ConfigError` for an unknown model, split or difficulty, and for variables that no chat template reads.
    """
    sampling = Sampling(temperature=temperature, max_new_tokens=max_new_tokens)
    policy, close = _policy(model, environment, sampling, chat_template_kwargs or {})
    try:
        with tempfile.TemporaryDirectory(prefix="agentevol-") as folder:
            if environment.url is not None:
                return _play(policy, environment, environment.url, split, difficulty, episodes, seed, started)
            with EnvironmentServer(environment, Path(folder) / "server.log") as server:
                return _play(policy, environment, server.url, split, difficulty, episodes, seed, started)
    finally:
        close()


def _policy(
    model: str, environment: EnvironmentConfig, sampling: Sampling, chat_template_kwargs: Mapping[str, Any]
) -> tuple[Policy, Callable[[], None]]:
    """What acts, and how to end it."""
    if model in SCRIPTED:
        if chat_template_kwargs:
            raise ConfigError(f"--chat-template-kwarg has no effect: {model} is a script and reads no chat")
        world = make(environment.name, **environment.options)
        return scripted_policy(model, lambda task_id: world.expert(world.task(task_id))), world.close
    from agentevol.engines.embedded import EmbeddedEngine

    engine = EmbeddedEngine(resolve(model), slots=SLOTS, chat_template_kwargs=chat_template_kwargs)
    return engine.serve(sampling), engine.close


def _play(
    policy: Policy,
    environment: EnvironmentConfig,
    url: str,
    split: str,
    difficulty: str | None,
    episodes: int | None,
    seed: int,
    started: Callable[[int], Report],
) -> list[Trajectory]:
    tasks = list_tasks(url, environment.name, split, difficulty, spread(episodes))
    requests = [_request(environment, task, seed, number) for number, task in enumerate(tasks)]
    report = started(len(requests))
    found = asyncio.run(_all(policy, environment, url, requests, report))
    order = {request.id: number for number, request in enumerate(requests)}
    return sorted(found, key=lambda t: order[t.id])


async def _all(
    policy: Policy,
    environment: EnvironmentConfig,
    url: str,
    requests: Sequence[EpisodeRequest],
    report: Report,
) -> list[Trajectory]:
    found: list[Trajectory] = []
    form = FORMATS[environment.format]
    async with EnvClient(url) as client:
        async for trajectory in play_all(client, policy, requests, form, concurrency=SLOTS):
            found.append(trajectory)
            report([trajectory])
    return found


def _request(environment: EnvironmentConfig, task: EnvTask, seed: int, number: int) -> EpisodeRequest:
    identity = f"eval/{number}/{task.task_id}"
    return EpisodeRequest(
        id=identity,
        run="eval",
        iteration=0,
        purpose="evaluate",
        env=environment.name,
        task_id=task.task_id,
        split=task.split,
        kind=task.kind,
        difficulty=task.difficulty,
        instruction=task.instruction,
        seed=zlib.crc32(f"{seed}/{identity}".encode()) >> 1,
        attempt=0,
        max_turns=environment.max_turns,
    )
