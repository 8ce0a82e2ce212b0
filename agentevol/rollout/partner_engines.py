"""Engines of a rollout worker for the partners that single episodes name (`EpisodeRequest.partner`).

    async with engines.player(request.partner, sampling) as partner:
        ...  # the engine keeps these weights until all episodes with them have ended

An engine whose episodes have ended takes the weights of another partner. Where every engine is in use, an
episode with another partner waits.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agentevol.core.errors import ConfigError, PolicyFault, one_line
from agentevol.core.protocols import Checkpoint, Policy, RolloutEngine, Sampling
from agentevol.rollout.engine_factory import script_player
from agentgym_envs.formats import ActionFormat

MOST_ENGINES = 2
"""Engines of partners beside the policy's: the next partner's weights are there before the last episodes of
the previous one have ended.
"""


@dataclass
class _Place:
    """Place of an engine, with its weights and the number of episodes that use it."""

    engine: RolloutEngine | None = None
    weights: Checkpoint | None = None
    users: int = 0


class PartnerEngines:
    """At most `most` engines, each begun by `start` when it is first needed."""

    def __init__(
        self,
        start: Callable[[Checkpoint], RolloutEngine],
        form: ActionFormat,
        most: int = MOST_ENGINES,
    ) -> None:
        self._start, self._form = start, form
        self._places = [_Place() for _ in range(most)]
        self._changed = asyncio.Condition()

    def __iter__(self) -> Iterator[RolloutEngine]:
        """Engines that have begun."""
        return (place.engine for place in self._places if place.engine is not None)

    @asynccontextmanager
    async def player(self, partner: Checkpoint | str, sampling: Sampling) -> AsyncIterator[Policy]:
        """Player of a partner's seats within the block. Raises `PolicyFault` for weights that no engine
        takes.
        """
        if isinstance(partner, str):
            yield script_player(partner, self._form)
            return
        place, engine = await self._taken(partner)
        try:
            yield engine.serve(sampling)
        finally:
            place.users -= 1
            async with self._changed:
                self._changed.notify_all()

    async def _taken(self, weights: Checkpoint) -> tuple[_Place, RolloutEngine]:
        """A place with one more user, and its engine, which holds these weights."""
        async with self._changed:
            while (place := self._free(weights)) is None:
                await self._changed.wait()
            engine = place.engine
            if engine is None or place.weights != weights:
                engine = await self._load(place, weights)
            place.users += 1
            return place, engine

    def _free(self, weights: Checkpoint) -> _Place | None:
        """The place that holds these weights, or else one that nobody uses, without an engine at best."""
        held = [place for place in self._places if place.weights == weights]
        unused = [place for place in self._places if not place.users]
        unused.sort(key=lambda place: place.engine is not None)
        return next(iter(held or unused), None)

    async def _load(self, place: _Place, weights: Checkpoint) -> RolloutEngine:
        """Give a place other weights; episodes that wait for a place go on waiting, those under way go on."""
        place.weights, engine = None, place.engine
        try:
            if engine is None:
                engine = place.engine = await asyncio.to_thread(self._start, weights)
            else:
                await asyncio.to_thread(engine.update, weights)
        except (ConfigError, OSError) as cause:
            raise PolicyFault(f"partner {weights.path.name}: {one_line(cause)}") from cause
        place.weights = weights
        return engine
