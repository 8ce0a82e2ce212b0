"""A process that plays episodes."""

import asyncio
import os
from typing import Any

from agentevol.config.sections import EngineConfig, EnvironmentConfig
from agentevol.loop.explore import EpisodeRequest, play
from agentevol.protocols import Checkpoint, Sampling
from agentevol.workers.quiet import quiet
from agentgym_store.records import Trajectory


class RolloutWorker:
    """A process with an engine: plays one episode for every call that is under way."""

    def __init__(
        self, engine: EngineConfig, environment: EnvironmentConfig, url: str, checkpoint: Checkpoint
    ) -> None:
        from agentevol.engines.choice import start_engine
        from agentevol.rewards.forks import Forks
        from agentgym_client import EnvClient
        from agentgym_envs.formats import FORMATS

        quiet()
        self._engine = start_engine(engine, checkpoint)
        self._client = EnvClient(url)
        self._forks = Forks(self._client, environment.name, engine.workers * engine.slots)
        self._format = FORMATS[environment.format]
        self._policies: dict[Sampling, Any] = {}

    async def play(self, request: EpisodeRequest, sampling: Sampling) -> Trajectory:
        """One episode under the current weights."""
        policy = self._policies.get(sampling)
        if policy is None:
            policy = self._policies[sampling] = self._engine.serve(sampling)
        episode = await play(self._client, policy, request, self._format, self._forks)
        self._leave_if_lost()
        return episode

    async def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights; no episode is under way then."""
        self._policies.clear()
        try:
            await asyncio.to_thread(self._engine.update, checkpoint)
        finally:
            self._leave_if_lost()

    def _leave_if_lost(self) -> None:
        """End without an engine: the worker that comes instead plays the episodes under way again."""
        if self._engine.lost:
            os._exit(1)

    async def ready(self) -> bool:
        """Answers once the worker has started."""
        return True
