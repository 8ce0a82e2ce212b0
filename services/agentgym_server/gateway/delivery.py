"""How requests reach servers: to the one that holds a session, or to the first that has room.

A request that may have been carried out never goes to a second server. To the same one it goes again only
where that cannot act twice.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agentgym_server.clock import Clock
from agentgym_server.gateway.fleet import UNAVAILABLE, Backend, Fleet, full, worker_lost
from agentgym_server.gateway.queues import Queue, Queues
from agentgym_server.gateway.routing import Destination
from agentgym_server.gateway.upstream import Lost, Undelivered
from agentgym_server.gateway.watch import Watch
from agentgym_server.problems import PREFIX, Problem
from agentgym_server.sessions.idempotency import MAX_KEY_CHARS

CAPACITY = f'"type":"{PREFIX}capacity"'.encode()
ReplyT = TypeVar("ReplyT")
ToldT = TypeVar("ToldT")
Attempt = Callable[[Backend, bool], Awaitable[ReplyT]]
"""Sends it to a server, which may let it wait for a free slot or not; raises `Undelivered` or `Lost`."""


@dataclass(frozen=True)
class Errand:
    """What is to be delivered, as far as delivery cares."""

    place: Destination
    repeatable: bool
    wait_s: float = 0.0
    """How long it is ready to wait for a free slot."""
    takes_slot: Callable[[], bool] = lambda: False
    """Whether it would take a slot that is free, and so may not overtake those who wait for one."""


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
    """Sends errands to the servers of a fleet."""

    def __init__(
        self,
        fleet: Fleet,
        watch: Watch,
        homes: Homes,
        queues: Queues,
        status: Callable[[ReplyT], int],
        document: Callable[[ReplyT], bytes] = lambda _: b"",
    ) -> None:
        """`status` and `document`: a reply's status, and the JSON of a reply that is a problem."""
        self._fleet, self._watch, self._homes, self._queues = fleet, watch, homes, queues
        self._status, self._document = status, document

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
            return await self._admit(errand, self._counted(attempt))
        home = self._homes.of(errand.place.env, key)

        async def noted(backend: Backend, wait: bool) -> ReplyT:
            home.tag = backend.tag
            reply = await attempt(backend, wait)
            if self._status(reply) == 503:  # nothing was done, and its key is free
                home.tag = ""
            return reply

        async with home.lock:
            return await self._admit(errand, self._counted(noted), home.tag)

    async def _admit(self, errand: Errand, attempt: Attempt[ReplyT], home: str = "") -> ReplyT:
        """The reply of a server with a free slot, in the order of arrival where there is none at first.

        `home`: the tag of the server that had the key before; a repeat there takes no slot.
        """
        candidates = self._fleet.candidates(errand.place)
        candidates.sort(key=lambda one: one.tag != home)
        if errand.place.env not in self._fleet.entries:  # no server will take it
            return await self._first([(one, False) for one in candidates], errand, attempt)
        queue = self._queues.of(errand.place.env)
        if len(candidates) == 1 and queue.empty and self._watch.whole:
            return await self._first([(candidates[0], True)], errand, attempt)  # it has a queue of its own
        if queue.empty or home or not errand.takes_slot():
            try:
                return await self._first([(one, False) for one in candidates], errand, attempt)
            except Problem as problem:
                if problem.slug != "capacity" or not errand.wait_s:
                    raise
        elif not errand.wait_s:
            raise full((one.most - one.vacancies, one.most) for one in candidates)
        return await self._wait(queue, errand, attempt)

    async def _wait(self, queue: Queue, errand: Errand, attempt: Attempt[ReplyT]) -> ReplyT:
        """The reply of a server whose slot became free; raises `capacity` where none does in time."""
        ticket, until = queue.ticket(), asyncio.get_running_loop().time() + errand.wait_s
        while await queue.turn(ticket, until):
            try:
                candidates = self._fleet.candidates(errand.place)
                return await self._first([(one, False) for one in candidates], errand, attempt)
            except Problem as problem:
                if problem.slug != "capacity":
                    raise
        raise full((one.most - one.vacancies, one.most) for one in self._fleet.candidates(errand.place))

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
        """The reply of the first that takes it, else a refusal; raises `capacity` where they are full."""
        refusals: list[ReplyT] = []
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
            refusals.append(reply)
        return self._refusal(refusals)

    def _refusal(self, refusals: Sequence[ReplyT]) -> ReplyT:
        """What all refusals come to."""
        if not refusals:
            raise Problem("unavailable", UNAVAILABLE)
        figures = [
            pair for pair in (figures_of(self._document(reply)) for reply in refusals) if pair is not None
        ]
        if figures:
            raise full(figures)
        return next((reply for reply in refusals if self._status(reply) != 404), refusals[0])

    def _passes_on(self, errand: Errand, reply: ReplyT) -> bool:
        """Whether this is a refusal before anything was done, and another server may say otherwise."""
        status, place = self._status(reply), errand.place
        unknown = place.mounted and place.env not in self._fleet.entries
        return (status == 503 and place.begins) or (status == 404 and unknown)


def figures_of(document: bytes) -> tuple[int, int] | None:
    """Sessions and limit of the problem `capacity`, None for any other document."""
    if CAPACITY not in document:
        return None
    problem = json.loads(document)
    return problem["active_sessions"], problem["max_sessions"]
