"""Episodes under way in a worker, and the policy for them during a weight update (`rollout.in_flight`)."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from agentevol.core.errors import WeightsReplaced
from agentevol.core.protocols import Conversation, InFlightRule, RolloutEngine, Sampling
from agentevol.rollout.seats import Episode
from agentgym_store.records import Sample


class LatestPolicy:
    """Policy over the engine's current weights: an episode continues with new weights from its next turn on,
    and each turn's sample records their version.
    """

    def __init__(self, engine: RolloutEngine, sampling: Sampling) -> None:
        self._engine, self._sampling = engine, sampling
        now = engine.serve(sampling)
        self.name, self.version = now.name, now.version
        """of the engine's first weights"""

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        """Sample the next turn. Raises the errors of the engine's own policies, except for
        `WeightsReplaced`.
        """
        while True:
            try:
                return await self._engine.serve(self._sampling).act(conversation, seed)
            except WeightsReplaced:  # while it waited to be sampled
                continue

    def release(self, conversation_id: str) -> None:
        """Discard the cache of a conversation."""
        self._engine.serve(self._sampling).release(conversation_id)


class InFlight:
    """Episodes of one worker. During a weight update, `continue` leaves them alone, `finish` waits for their
    end and `abort` cancels them; with the latter two no other begins until the new weights are there.
    """

    def __init__(self, rule: InFlightRule) -> None:
        self._rule: InFlightRule = rule
        self._episodes: set[asyncio.Task[Episode]] = set()
        self._aborted: set[asyncio.Task[Episode]] = set()
        self._open = asyncio.Event()
        self._open.set()

    async def play(self, episode: Coroutine[Any, Any, Episode]) -> Episode | None:
        """Result of the episode; None where it was aborted."""
        await self._open.wait()
        task = asyncio.create_task(episode)
        self._episodes.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task not in self._aborted:
                raise
            return None
        finally:
            self._episodes.discard(task)
            self._aborted.discard(task)

    @asynccontextmanager
    async def new_weights(self) -> AsyncIterator[None]:
        """Context of a weight swap."""
        if self._rule == "continue":
            yield
            return
        self._open.clear()
        try:
            under_way = set(self._episodes)
            if self._rule == "abort":
                self._aborted |= under_way
                for task in under_way:
                    task.cancel()
            if under_way:
                await asyncio.wait(under_way)
            yield
        finally:
            self._open.set()
