"""Queues of requests that wait for a free slot: one per environment, first come, first served.

A slot may become free at any replica, so requests do not wait at a single one. While requests wait, the
servers of the environment are polled for free slots, and as many requests are released. A request for an
episode with several seats waits until one server has a slot for each of them.
"""

import asyncio
import heapq
import itertools
import logging
from collections.abc import Awaitable, Callable

from agentgym_server.gateway.backends.fleet import Fleet
from agentgym_server.gateway.backends.health import HealthPoller
from agentgym_server.gateway.routing import Destination
from agentgym_server.wire.problems import Problem

log = logging.getLogger(__name__)

LOOK_S = 0.05
"""Interval between two polls for free slots."""


class Queue:
    """Queue for the slots of one environment."""

    def __init__(self, vacancies: Callable[[], Awaitable[list[int]]]) -> None:
        """`vacancies` returns the current number of free slots of each server."""
        self._vacancies = vacancies
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        """Ticket and slots of each waiting request, as a heap."""
        self._tickets = itertools.count()
        self._looking: asyncio.Task[None] | None = None

    @property
    def empty(self) -> bool:
        """True if no request waits."""
        return not self._waiting

    def ticket(self) -> int:
        """The next place in the order of arrival."""
        return next(self._tickets)

    async def turn(self, ticket: int, slots: int, until: float) -> bool:
        """Wait until one server has that many free slots, at most until this time of the event loop; False on
        timeout.
        """
        loop = asyncio.get_running_loop()
        call: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._waiting, (ticket, slots, call))
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            await asyncio.wait([call], timeout=max(0.0, until - loop.time()))
        finally:
            if not call.done():
                self._waiting.remove((ticket, slots, call))
                heapq.heapify(self._waiting)
        return call.done()

    async def _look(self) -> None:
        while not self.empty:
            try:
                free = await self._vacancies()
            except Exception:  # polling continues, whatever a server answers
                log.exception("cannot look for free slots")
                free = []
            self._release(free)
            await asyncio.sleep(LOOK_S)

    def _release(self, free: list[int]) -> None:
        """Release requests in their order while one of the servers, with `free` slots each, has enough."""
        while self._waiting and free:
            _, slots, call = self._waiting[0]
            server = free.index(max(free))
            if free[server] < slots:
                return
            free[server] -= slots
            heapq.heappop(self._waiting)
            call.set_result(None)


class Queues:
    """Queues of a fleet, by environment."""

    def __init__(self, fleet: Fleet, watch: HealthPoller) -> None:
        self._fleet, self._watch = fleet, watch
        self._queues: dict[str, Queue] = {}

    def of(self, env: str) -> Queue:
        """The queue of an environment."""
        if env not in self._queues:
            self._queues[env] = Queue(lambda: self._vacancies(env))
        return self._queues[env]

    async def _vacancies(self, env: str) -> list[int]:
        await self._watch.look(env)
        try:
            candidates = self._fleet.candidates(Destination(env=env, begins=True))
        except Problem:  # no server accepts a session now
            return []
        return [one.vacancies for one in candidates]
