"""Demonstrations: episodes of the environment's expert, played through the same server and client as any
other. In an action format of thinking modes they are of the player that thinks in them, won or lost.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from agentevol.config.run import RunConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.action_formats.registry import action_format
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, Policy, TrainingSequence
from agentevol.engines.scripted import ExpertPolicy, RenderedPolicy
from agentevol.learn.batches.packing import demonstration
from agentevol.models.rendering import ChatRenderer, load_tokenizer
from agentevol.rollout.concurrent_episodes import play_all
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.environments import demonstrated, opened
from agentevol.rollout.episode import EpisodeRequest
from agentgym_client import EnvClient
from agentgym_envs.formats import ActionFormat
from agentgym_envs.registry import environment_class, make
from agentgym_store.records import MESSAGE, Trajectory, Turn

CONCURRENCY = 32


def demonstrate(
    environment: EnvironmentConfig, url: str, requests: Sequence[EpisodeRequest]
) -> list[Trajectory]:
    """Play the requests with the environment's expert, or its player in thinking modes. Raises `RunStopped`
    where an episode failed, or was not won by an expert, and `ConfigError` where there is no player.
    """
    form = action_format(environment.format)
    if form.modes:
        trajectories = asyncio.run(_in_modes(environment, url, requests, form))
    else:
        trajectories = asyncio.run(_by_expert(environment, url, requests, form))
    for one in trajectories:
        if one.ending.kind == "failed":
            raise RunStopped(
                f"a demonstration of {one.task_id} failed: {one.ending.failure}: {one.ending.detail}"
            )
    lost = [t for t in trajectories if not t.succeeded()]
    if lost and not form.modes:
        raise RunStopped(
            f"the expert of {environment.name} did not win {len(lost)} tasks, for example {lost[0].task_id}"
        )
    return sorted(trajectories, key=lambda t: t.id)


async def _by_expert(
    environment: EnvironmentConfig, url: str, requests: Sequence[EpisodeRequest], form: ActionFormat
) -> list[Trajectory]:
    made = make(environment.name, **environment.options)
    policy = RenderedPolicy(ExpertPolicy(lambda task_id: made.expert(made.task(task_id))), form)
    try:
        return await _played(url, policy, requests, form)
    finally:
        made.close()


async def _in_modes(
    environment: EnvironmentConfig, url: str, requests: Sequence[EpisodeRequest], form: ActionFormat
) -> list[Trajectory]:
    """Episodes of the player in thinking modes, whose whole messages are recorded; on a server of their own
    where the run's has partners that the player does not know.
    """
    with opened(environment) as made:
        told = {
            one.task_id: demonstrated(made, made.task(one.task_id), one.seed, 1.0, form).messages
            for one in requests
        }
    policy = ExpertPolicy(told.get)
    options = environment_class(environment.name).demonstration_options(environment.options)
    if options == environment.options:
        found = await _played(url, policy, requests, form)
    else:
        own = environment.model_copy(update={"options": dict(options)})
        with (
            TemporaryDirectory(prefix="agentevol-demonstrations-") as folder,
            EnvironmentServer(own, Path(folder) / "server.log") as server,
        ):
            found = await _played(server.url, policy, requests, form)
    return [
        t.model_copy(update={"turns": tuple(map(_with_message, t.turns, told[t.task_id]))}) for t in found
    ]


async def _played(
    url: str, policy: Policy, requests: Sequence[EpisodeRequest], form: ActionFormat
) -> list[Trajectory]:
    async with EnvClient(url) as client:
        return [t async for t in play_all(client, policy, requests, form, concurrency=CONCURRENCY)]


def _with_message(turn: Turn, message: str) -> Turn:
    return turn.model_copy(update={"info": {**turn.info, MESSAGE: message}})


def demonstration_sequences(
    trajectories: Sequence[Trajectory], base: Checkpoint, config: RunConfig
) -> list[TrainingSequence]:
    """Training sequences of expert episodes, encoded by the base's tokenizer and chat template as messages of
    the run's action format.
    """
    renderer = ChatRenderer(load_tokenizer(base.path), config.chat_template_kwargs)
    weight, form = config.demonstrations.weight, action_format(config.environment.format)
    return [demonstration(t, renderer, weight, form) for t in trajectories]
