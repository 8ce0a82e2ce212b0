"""A process that plays episodes."""

import asyncio
import os

from agentevol.config.sections import EngineConfig, EnvironmentConfig
from agentevol.loop.explore import ABORTED, EpisodeRequest, failed, play
from agentevol.protocols import Checkpoint, InFlightRule, Sampling
from agentevol.workers.in_flight import InFlight, LatestPolicy
from agentevol.workers.settings import settle
from agentgym_store.records import Trajectory


class RolloutWorker:
    """A process with an engine: plays one episode for every call that is under way."""

    def __init__(
        self,
        engine: EngineConfig,
        environment: EnvironmentConfig,
        url: str,
        checkpoint: Checkpoint,
        in_flight: InFlightRule = "continue",
    ) -> None:
        settle(engine.threads)
        from agentevol.engines.choice import start_engine
        from agentevol.rewards.forks import Forks
        from agentgym_client import EnvClient
        from agentgym_envs.formats import FORMATS

        self._engine = start_engine(engine, checkpoint)
        self._client = EnvClient(url)
        self._forks = Forks(self._client, environment.name, engine.workers * engine.capacity)
        self._format = FORMATS[environment.format]
        self._in_flight = InFlight(in_flight)

    async def play(self, request: EpisodeRequest, sampling: Sampling) -> Trajectory:
        """One episode. Where it was given up for new weights, it has failed as `ABORTED`."""
        policy = LatestPolicy(self._engine, sampling)
        episode = await self._in_flight.play(play(self._client, policy, request, self._format, self._forks))
        self._leave_if_lost()
        return episode or failed(request, policy.name, ABORTED, "given up for new weights")

    async def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights, once episodes under way have been dealt with."""
        async with self._in_flight.new_weights():
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
