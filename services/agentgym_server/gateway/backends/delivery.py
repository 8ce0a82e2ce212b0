"""Delivery of requests to servers: to the one that holds a session, or to the first with a free slot.

A request that may have been executed is never sent to a second server. It is retried at the same server only
where it cannot act twice.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agentgym_server.clock import Clock
from agentgym_server.gateway.backends.fleet import UNAVAILABLE, Backend, Fleet, full, worker_lost
from agentgym_server.gateway.backends.health import HealthPoller
from agentgym_server.gateway.backends.queues import Queue, Queues
from agentgym_server.gateway.backends.upstream import Lost, Undelivered
from agentgym_server.gateway.routing import Destination
from agentgym_server.sessions.idempotency import MAX_KEY_CHARS
from agentgym_server.wire.problems import PREFIX, Problem

CAPACITY = f'"type":"{PREFIX}capacity"'.encode()
ReplyT = TypeVar("ReplyT")
ToldT = TypeVar("ToldT")
Attempt = Callable[[Backend, bool], Awaitable[ReplyT]]
"""Sends the request to a server, which may queue it for a free slot if the flag is set; raises `Undelivered`
or `Lost`.
"""


@dataclass(frozen=True)
class DeliveryRequest:
    """Request to deliver, with the facts that decide about its delivery."""

    place: Destination
    repeatable: bool
    wait_s: float = 0.0
    """Maximum wait for a free slot, seconds."""
    slots: Callable[[], int] = lambda: 0
    """Free slots that it would take at once, so that it must not overtake the requests that wait for some; 0
    if it would take none, or is not known to.
    """


@dataclass(eq=False)
class Home:
    """Server that received a key first."""

    expires_at: float
    tag: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by the first request, so that a repeat waits until its server is known."""


class Homes:
    """Homes of idempotency keys, kept as long as servers keep the keys."""

    def __init__(self, clock: Clock, keep_s: float) -> None:
        self._clock, self._keep_s = clock, keep_s
        self._homes: OrderedDict[tuple[str | None, str], Home] = OrderedDict()

    def of(self, env: str | None, key: str) -> Home:
        """The home of a key, created if new."""
        now = self._clock.now()
        while self._homes and next(iter(self._homes.values())).expires_at <= now:
            self._homes.popitem(last=False)
        return self._homes.setdefault((env, key), Home(now + self._keep_s))


class Delivery(Generic[ReplyT]):
    """Sends errands to the servers of a fleet."""

    def __init__(
        self,
        fleet: Fleet,
        watch: HealthPoller,
        homes: Homes,
        queues: Queues,
        status: Callable[[ReplyT], int],
        document: Callable[[ReplyT], bytes] = lambda _: b"",
    ) -> None:
        """`status` and `document`: functions for a reply's status, and for the JSON of a reply that is a
        problem.
        """
        self._fleet, self._watch, self._homes, self._queues = fleet, watch, homes, queues
        self._status, self._document = status, document

    async def deliver(self, errand: DeliveryRequest, attempt: Attempt[ReplyT]) -> ReplyT:
        """The reply of the server that the errand belongs to; raises `worker-lost` and `unavailable`."""
        place = errand.place
        holder = self._holder(place)
        if holder is not None:
            return await self.to(holder, errand, attempt)
        if place.begins:
            return await self._begin(errand, attempt)
        candidates = [(one, True) for one in self._fleet.candidates(place)]
        return await self._first(candidates, errand, attempt)

    def _holder(self, place: Destination) -> Backend | None:
        """The holder of the place's session.

        A dialect's session belongs to the environment of its path: if its server has no such environment, a
        server that has it replies that there is no such session.
        """
        holder = None if place.tag is None else self._fleet.holder(place.tag)
        if holder is None or not place.mounted or place.env not in self._fleet.entries:
            return holder
        return holder if place.env in holder.entries else None

    async def to(self, backend: Backend, errand: DeliveryRequest, attempt: Attempt[ToldT]) -> ToldT:
        """The reply of this server."""
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

    async def _begin(self, errand: DeliveryRequest, attempt: Attempt[ReplyT]) -> ReplyT:
        """Start a session on the server with most free slots, or on the one that received this key first."""
        key, slots = errand.place.key, errand.slots()
        counted = self._counted(attempt, slots)
        if key is None or len(key) > MAX_KEY_CHARS:
            return await self._admit(errand, counted, slots)
        home = self._homes.of(errand.place.env, key)

        async def noted(backend: Backend, wait: bool) -> ReplyT:
            home.tag = backend.tag
            reply = await counted(backend, wait)
            if self._status(reply) == 503:  # not started, and its key is free
                home.tag = ""
            return reply

        async with home.lock:
            return await self._admit(errand, noted, slots, home.tag)

    async def _admit(
        self, errand: DeliveryRequest, attempt: Attempt[ReplyT], slots: int, home: str = ""
    ) -> ReplyT:
        """The reply of a server with a free slot, in order of arrival while there is none.

        `home`: the tag of the server that received the key first; a repeat there takes no slot.
        """
        candidates = self._fleet.candidates(errand.place)
        candidates.sort(key=lambda one: one.tag != home)
        if errand.place.env not in self._fleet.entries:  # no server has the environment
            return await self._first([(one, False) for one in candidates], errand, attempt)
        queue = self._queues.of(errand.place.env)
        if len(candidates) == 1 and queue.empty and self._watch.whole:
            return await self._first([(candidates[0], True)], errand, attempt)  # the server has its own queue
        if queue.empty or home or not slots:
            try:
                return await self._first([(one, False) for one in candidates], errand, attempt)
            except Problem as problem:
                if problem.slug != "capacity" or not errand.wait_s:
                    raise
        elif not errand.wait_s:
            raise full((one.most - one.vacancies, one.most) for one in candidates)
        if slots > max(one.most for one in candidates):  # no server will ever have as many
            raise full((one.most - one.vacancies, one.most) for one in candidates)
        return await self._wait(queue, errand, attempt, max(1, slots))

    async def _wait(
        self, queue: Queue, errand: DeliveryRequest, attempt: Attempt[ReplyT], slots: int
    ) -> ReplyT:
        """The reply of a server whose slots became free; raises `capacity` on timeout."""
        ticket, until = queue.ticket(), asyncio.get_running_loop().time() + errand.wait_s
        while await queue.turn(ticket, slots, until):
            try:
                candidates = self._fleet.candidates(errand.place)
                return await self._first([(one, False) for one in candidates], errand, attempt)
            except Problem as problem:
                if problem.slug != "capacity":
                    raise
        raise full((one.most - one.vacancies, one.most) for one in self._fleet.candidates(errand.place))

    def _counted(self, attempt: Attempt[ReplyT], slots: int) -> Attempt[ReplyT]:
        count = max(1, slots)

        async def counted(backend: Backend, wait: bool) -> ReplyT:
            backend.begun += count
            reply = await attempt(backend, wait)
            if self._status(reply) >= 400:
                backend.begun = max(0, backend.begun - count)
            return reply

        return counted

    async def _first(
        self, plan: Sequence[tuple[Backend, bool]], errand: DeliveryRequest, attempt: Attempt[ReplyT]
    ) -> ReplyT:
        """The reply of the first server that accepts, else a refusal; raises `capacity` if all are full."""
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
        """The one reply that represents all refusals."""
        if not refusals:
            raise Problem("unavailable", UNAVAILABLE)
        figures = [
            pair for pair in (figures_of(self._document(reply)) for reply in refusals) if pair is not None
        ]
        if figures:
            raise full(figures)
        return next((reply for reply in refusals if self._status(reply) != 404), refusals[0])

    def _passes_on(self, errand: DeliveryRequest, reply: ReplyT) -> bool:
        """True if the request was refused before it was started, and another server may accept it."""
        status, place = self._status(reply), errand.place
        unknown = place.mounted and place.env not in self._fleet.entries
        return (status == 503 and place.begins) or (status == 404 and unknown)


def figures_of(document: bytes) -> tuple[int, int] | None:
    """Sessions and limit of the problem `capacity`, None for any other document."""
    if CAPACITY not in document:
        return None
    problem = json.loads(document)
    return problem["active_sessions"], problem["max_sessions"]
