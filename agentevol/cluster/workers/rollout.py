"""Rollout worker process."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from agentevol.cluster.checkpoints.access import copies
from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.cluster.workers.in_flight import InFlight, LatestPolicy
from agentevol.cluster.workers.process_settings import settle
from agentevol.config.sections.engine import EngineConfig
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import PolicyFault
from agentevol.core.memory import peak_memory
from agentevol.core.protocols import Checkpoint, InFlightRule, Policy, Sampling
from agentevol.core.waits import Waits
from agentevol.models.lora_config import LoraConfig
from agentevol.rollout.concurrent_episodes import play_episode
from agentevol.rollout.episode import ABORTED, EpisodeRequest
from agentevol.rollout.seats import Episode, failed_episode

if TYPE_CHECKING:
    from agentevol.engines.vllm.engine import VllmEngine
    from agentevol.engines.vllm.weights.transfer_modes import Step


@dataclass(frozen=True)
class WorkerUsage:
    """Use of the system by one rollout worker."""

    waits: Waits
    """Waits of requests in the engine since the previous call, if it counts them."""
    memory: Mapping[str, float]
    """Peak of the process (`agentevol.core.memory`); processes of vLLM are others."""


class RolloutWorker:
    """Process with an engine: plays one episode for every call under way."""

    def __init__(
        self,
        engine: EngineConfig,
        environment: EnvironmentConfig,
        url: str,
        checkpoint: Checkpoint,
        in_flight: InFlightRule = "continue",
        lora: LoraConfig | None = None,
        store: CheckpointStore | None = None,
    ) -> None:
        settle(engine.threads)
        from agentevol.core.action_formats.registry import action_format
        from agentevol.rollout.engine_factory import partner_player, start_engine
        from agentevol.rollout.partner_engines import PartnerEngines
        from agentevol.rollout.session_forks import Forks
        from agentgym_client import EnvClient

        self._copies = copies(store)
        self._first = self._latest = checkpoint
        self._copies.use(checkpoint)
        self._engine = start_engine(engine, self._copies.here(checkpoint), lora=lora)
        self._client = EnvClient(url)
        self._forks = Forks(self._client, engine.workers * engine.capacity)
        self._format = action_format(environment.format)
        self._partner = partner_player(environment, engine, self._format)
        self._partners = PartnerEngines(lambda weights: start_engine(engine, weights), self._format)
        self._in_flight = InFlight(in_flight)

    async def play(self, request: EpisodeRequest, sampling: Sampling) -> Episode:
        """Play one episode in all its seats. Where it was aborted for new weights, it has failed as
        `ABORTED`.
        """
        if request.temperature is not None:
            sampling = replace(sampling, temperature=request.temperature)
        try:
            async with self._beside(request, sampling) as partner:
                episode = await self._play(request, sampling, partner)
        except PolicyFault as fault:  # no engine has the partner's weights
            episode = failed_episode(request, "", fault.kind, str(fault))
        self._leave_if_lost()
        return episode

    @asynccontextmanager
    async def _beside(self, request: EpisodeRequest, sampling: Sampling) -> AsyncIterator[Policy | None]:
        """Player of the seats beside the policy's; None in self-play."""
        if request.partner is None:
            yield None if self._partner is None else self._partner.serve(sampling)
            return
        async with self._partners.player(request.partner, sampling) as partner:
            yield partner

    async def _play(self, request: EpisodeRequest, sampling: Sampling, partner: Policy | None) -> Episode:
        policy = LatestPolicy(self._engine, sampling)
        playing = play_episode(self._client, policy, request, self._format, self._forks, partner)
        episode = await self._in_flight.play(playing)
        return episode or failed_episode(request, policy.name, ABORTED, "aborted for new weights")

    async def update(self, checkpoint: Checkpoint) -> None:
        """Swap the weights, after the episodes under way have been handled."""
        await self._bring(checkpoint)
        async with self._in_flight.new_weights():
            try:
                await asyncio.to_thread(self._engine.update, self._copies.here(checkpoint))
            finally:
                self._leave_if_lost()

    async def receive(self, checkpoint: Checkpoint) -> None:
        """Swap the weights as `update`, with a transfer from the learner's process. Raises
        `TransferFailed`.
        """
        await self._bring(checkpoint)
        async with self._in_flight.new_weights():
            try:
                await asyncio.to_thread(self._vllm.receive, self._copies.here(checkpoint))
            finally:
                self._leave_if_lost()

    async def deliver(self, step: "Step", given: Any = None) -> Any:
        """Run one step of a weight transfer."""
        return await asyncio.to_thread(self._vllm.deliver, step, given)

    async def sleep(self) -> None:
        """Free the GPU's memory until there are new weights."""
        try:
            await asyncio.to_thread(self._vllm.sleep)
        finally:
            self._leave_if_lost()

    async def _bring(self, checkpoint: Checkpoint) -> None:
        """Copy a checkpoint to this machine, beside those that the engine may read meanwhile."""
        await asyncio.to_thread(self._copies.use, self._first, self._latest, checkpoint)
        self._latest = checkpoint

    @property
    def _vllm(self) -> "VllmEngine":
        return cast("VllmEngine", self._engine)

    def _leave_if_lost(self) -> None:
        """End the process when an engine has stopped: its replacement plays the episodes under way again."""
        engines = (self._engine, self._partner and self._partner.engine, *self._partners)
        if any(engine is not None and engine.lost for engine in engines):
            os._exit(1)

    async def usage(self) -> WorkerUsage:
        """Use of the system since the previous call."""
        taken = getattr(self._engine, "take_waits", Waits)
        return WorkerUsage(taken(), peak_memory())

    async def ready(self) -> tuple[str, ...]:
        """Return, once the worker has started, the ids of the GPUs that it sees."""
        return tuple(filter(None, os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")))
