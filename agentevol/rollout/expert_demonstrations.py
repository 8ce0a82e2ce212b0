"""Demonstrations: episodes of the environment's expert, played through the same server and client as any
other.
"""

import asyncio
from collections.abc import Sequence

from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.engines.scripted import ExpertPolicy, RenderedPolicy
from agentevol.learn.batches.packing import demonstration
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.episode import EpisodeRequest
from agentgym_client import EnvClient
from agentgym_envs.registry import make
from agentgym_store.records import Trajectory

CONCURRENCY = 32


def demonstrate(
    environment: EnvironmentConfig, url: str, requests: Sequence[EpisodeRequest]
) -> list[Trajectory]:
    """Play the requests with the environment's expert. Raises `RunStopped` where an episode failed or was not
    won.
    """
    trajectories = asyncio.run(_demonstrate(environment, url, requests))
    for one in trajectories:
        if one.ending.kind == "failed":
            raise RunStopped(
                f"a demonstration of {one.task_id} failed: {one.ending.failure}: {one.ending.detail}"
            )
    lost = [t for t in trajectories if not t.succeeded()]
    if lost:
        raise RunStopped(
            f"the expert of {environment.name} did not win {len(lost)} tasks, for example {lost[0].task_id}"
        )
    return sorted(trajectories, key=lambda t: t.id)


async def _demonstrate(
    environment: EnvironmentConfig, url: str, requests: Sequence[EpisodeRequest]
) -> list[Trajectory]:
    made = make(environment.name, **environment.options)
    form = action_format(environment.format)
    policy = RenderedPolicy(ExpertPolicy(lambda task_id: made.expert(made.task(task_id))), form)
    try:
        async with EnvClient(url) as client:
            return [t async for t in play_all(client, policy, requests, form, concurrency=CONCURRENCY)]
    finally:
        made.close()


def demonstration_sequences(
    trajectories: Sequence[Trajectory], base: Checkpoint, config: RunConfig
) -> list[TrainingSequence]:
    """Training sequences of expert episodes, encoded by the base's tokenizer and chat template as messages of
    the run's action format.
    """
    renderer = ChatRenderer(load_tokenizer(base.path), config.chat_template_kwargs)
    weight, form = config.demonstrations.weight, action_format(config.environment.format)
    return [demonstration(t, renderer, weight, form) for t in trajectories]
