"""How requests reach servers: to the one that holds a session, or to the first that has room.

A request that may have been carried out never goes to a second server. To the same one it goes again only
where that cannot act twice.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agentgym_server.clock import Clock
from agentgym_server.gateway.fleet import UNAVAILABLE, Backend, Fleet, worker_lost
from agentgym_server.gateway.routing import Destination
from agentgym_server.gateway.upstream import Lost, Undelivered
from agentgym_server.gateway.watch import Watch
from agentgym_server.problems import Problem
from agentgym_server.sessions.idempotency import MAX_KEY_CHARS

ReplyT = TypeVar("ReplyT")
ToldT = TypeVar("ToldT")
Attempt = Callable[[Backend, bool], Awaitable[ReplyT]]
"""Sends it to a server, which may let it wait for a free slot or not; raises `Undelivered` or `Lost`."""


@dataclass(frozen=True)
class Errand:
    """What is to be delivered, as far as delivery cares."""

    place: Destination
    repeatable: bool
    patient: bool = False
    """Whether it wants to wait for a free slot."""


@dataclass(eq=False)
class Home:
    """Which server had a key first."""

    expires_at: float
    tag: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """A repeat waits until it is known where the first one went."""


class Homes:
    """Homes of keys, remembered as long as servers remember the keys."""

    def __init__(self, clock: Clock, keep_s: float) -> None:
        self._clock, self._keep_s = clock, keep_s
        self._homes: OrderedDict[tuple[str | None, str], Home] = OrderedDict()

    def of(self, env: str | None, key: str) -> Home:
        """The home of a key, perhaps a new one."""
        now = self._clock.now()
        while self._homes and next(iter(self._homes.values())).expires_at <= now:
            self._homes.popitem(last=False)
        return self._homes.setdefault((env, key), Home(now + self._keep_s))


class Delivery(Generic[ReplyT]):
    """Sends errands to the servers of a fleet; `status` tells the status of a reply."""

    def __init__(self, fleet: Fleet, watch: Watch, homes: Homes, status: Callable[[ReplyT], int]) -> None:
        self._fleet, self._watch, self._homes, self._status = fleet, watch, homes, status

    async def deliver(self, errand: Errand, attempt: Attempt[ReplyT]) -> ReplyT:
        """The reply of the server where the errand belongs; raises `worker-lost` and `unavailable`."""
        place = errand.place
        holder = self._holder(place)
        if holder is not None:
            return await self.to(holder, errand, attempt)
        if place.begins:
            return await self._begin(errand, attempt)
        candidates = [(one, True) for one in self._fleet.candidates(place)]
        return await self._first(candidates, errand, attempt)

    def _holder(self, place: Destination) -> Backend | None:
        """The server of the place's session. A dialect's session belongs to the environment of its path:
        where its server has no such environment, one that has it answers that there is no such session.
        """
        holder = None if place.tag is None else self._fleet.holder(place.tag)
        if holder is None or not place.mounted or place.env not in self._fleet.entries:
            return holder
        return holder if place.env in holder.entries else None

    async def to(self, backend: Backend, errand: Errand, attempt: Attempt[ToldT]) -> ToldT:
        """The reply of this server and no other."""
        delivered = False
        for _ in range(2):
            try:
                return await attempt(backend, True)
            except Undelivered:
                delivered = False
            except Lost:
                delivered = True
            if not await self._watch.confirm(backend):
                raise worker_lost()
            if delivered and not errand.repeatable:
                break
        if delivered:
            raise worker_lost(retryable=errand.repeatable)
        raise Problem("unavailable", UNAVAILABLE)

    async def _begin(self, errand: Errand, attempt: Attempt[ReplyT]) -> ReplyT:
        """Begin a session on the emptiest server that takes it, or on the one that had this key before."""
        key = errand.place.key
        if key is None or len(key) > MAX_KEY_CHARS:
            return await self._first(self._plan(errand), errand, self._counted(attempt))
        home = self._homes.of(errand.place.env, key)

        async def noted(backend: Backend, wait: bool) -> ReplyT:
            home.tag = backend.tag
            return await attempt(backend, wait)

        async with home.lock:
            plan = self._plan(errand)
            plan.sort(key=lambda step: step[0].tag != home.tag)
            return await self._first(plan, errand, self._counted(noted))

    def _plan(self, errand: Errand) -> list[tuple[Backend, bool]]:
        """Whom to ask in turn, and whether to wait there: only where no other has room at once."""
        candidates = self._fleet.candidates(errand.place)
        if not errand.patient or len(candidates) == 1:
            return [(one, True) for one in candidates]
        return [*((one, False) for one in candidates), (candidates[0], True)]

    def _counted(self, attempt: Attempt[ReplyT]) -> Attempt[ReplyT]:
        async def counted(backend: Backend, wait: bool) -> ReplyT:
            backend.begun += 1
            reply = await attempt(backend, wait)
            if self._status(reply) >= 400:
                backend.begun = max(0, backend.begun - 1)
            return reply

        return counted

    async def _first(
        self, plan: Sequence[tuple[Backend, bool]], errand: Errand, attempt: Attempt[ReplyT]
    ) -> ReplyT:
        """The reply of the first that takes it, else the first refusal."""
        refusal: ReplyT | None = None
        for backend, wait in plan:
            try:
                reply = await attempt(backend, wait)
            except Undelivered:
                continue
            except Lost:
                alive = await self._watch.confirm(backend)
                raise worker_lost(retryable=errand.repeatable or not alive) from None
            if not self._passes_on(errand, reply):
                return reply
            if refusal is None or self._status(refusal) == 404:
                refusal = reply
        if refusal is None:
            raise Problem("unavailable", UNAVAILABLE)
        return refusal

    def _passes_on(self, errand: Errand, reply: ReplyT) -> bool:
        """Whether this is a refusal before anything was done, and another server may say otherwise."""
        status, place = self._status(reply), errand.place
        unknown = place.mounted and place.env not in self._fleet.entries
        return (status == 503 and place.begins) or (status == 404 and unknown)
