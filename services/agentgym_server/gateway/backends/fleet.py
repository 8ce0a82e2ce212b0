"""Fleet of servers behind a gateway: living and lost backends, holders of sessions, and candidates for new
ones.

A `Backend` is one lifetime of one server process. A restarted server has another tag and is another backend,
so that a session of its former lifetime is known to be lost, and not merely unknown.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from agentgym_server.gateway.backends.upstream import Lost, Undelivered, Upstream
from agentgym_server.gateway.routing import Destination, Request
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import Reply

REMEMBERED_DEAD = 65536
UNAVAILABLE = "no server that could take this answers now"
LOST_TEXT = "the server of this episode died"


class Backend:
    """One server process, from its first response to its end."""

    def __init__(self, name: str, url: str, tag: str, entries: Iterable[dict[str, Any]]) -> None:
        """`name` as configured; `entries` of its `GET /envs`."""
        self.name, self.url, self.tag = name, url, tag
        self.entries = {str(entry["env"]): entry for entry in entries}
        self.health: dict[str, Any] = {}
        self.begun = 0
        """Sessions that were started here since its health was last reported."""
        self.lost = False
        self._when_lost: set[Callable[[], object]] = set()

    @property
    def load(self) -> int:
        """Open sessions, as far as known."""
        return int(self.health.get("sessions", {}).get("active", 0)) + self.begun

    @property
    def most(self) -> int:
        """Maximum number of open sessions, as far as known."""
        return int(self.health.get("sessions", {}).get("max", 0))

    @property
    def vacancies(self) -> int:
        """Free slots, as far as known."""
        free = int(self.health.get("sessions", {}).get("free", self.most - self.load + self.begun))
        return max(0, free - self.begun)

    @property
    def status(self) -> str:
        """Its last reported status, or `lost`."""
        return "lost" if self.lost else str(self.health.get("status", "healthy"))

    def lose(self) -> None:
        """Mark as lost and notify all waiting callers."""
        self.lost = True
        for callback in list(self._when_lost):
            callback()

    @contextmanager
    def watched(self, callback: Callable[[], object]) -> Generator[None]:
        """Call back if the server is lost within the block."""
        self._when_lost.add(callback)
        try:
            yield
        finally:
            self._when_lost.discard(callback)

    async def exchange(self, upstream: Upstream, request: Request) -> Reply:
        """Its reply, waited for while the server lives; raises `Undelivered` or `Lost`."""
        if self.lost:
            raise Undelivered(refused=True)
        try:
            async with asyncio.timeout(None) as limit:
                with self.watched(lambda: limit.reschedule(0)):
                    return await upstream.send(self.url, request)
        except TimeoutError:
            raise Lost("the server died meanwhile") from None


class Fleet:
    """All backends by tag, and the tags of those that died."""

    def __init__(self) -> None:
        self._living: dict[str, Backend] = {}
        self._dead: OrderedDict[str, str] = OrderedDict()
        self.entries: dict[str, dict[str, Any]] = {}
        """Every environment that a backend has offered, by name."""
        self.losses: dict[str, int] = {}
        """Number of lost backends, by configured name."""
        self.complete = False
        """True once every configured server has been reached; before that, an unknown tag may belong to
        one.
        """
        self.draining = False
        """True if no new sessions are accepted."""
        self.on_loss: Callable[[Backend], object] = lambda _: None

    @property
    def living(self) -> list[Backend]:
        """Backends that respond, in order of arrival."""
        return list(self._living.values())

    def add(self, backend: Backend) -> None:
        """Add a backend."""
        self._dead.pop(backend.tag, None)
        self._living[backend.tag] = backend
        self.entries |= backend.entries

    def lose(self, backend: Backend) -> None:
        """Remove a backend; its sessions are lost."""
        if self._living.get(backend.tag) is backend:
            del self._living[backend.tag]
            self._dead[backend.tag] = backend.name
            self.losses[backend.name] = self.losses.get(backend.name, 0) + 1
            if len(self._dead) > REMEMBERED_DEAD:
                self._dead.popitem(last=False)
        backend.lose()
        self.on_loss(backend)

    def tagged(self, tag: str) -> Backend | None:
        """The living backend with this tag."""
        return self._living.get(tag)

    def died(self, tag: str | None) -> bool:
        """True if a backend with this tag has been lost."""
        return tag in self._dead

    def holder(self, tag: str) -> Backend | None:
        """The backend that holds the sessions of a tag, None for an unknown tag.

        Raises `worker-lost` if it was lost, and `unavailable` if it may not have been reached yet.
        """
        if tag in self._dead:
            raise worker_lost()
        if tag not in self._living and not self.complete:
            raise Problem(
                "unavailable", "not every server has answered yet, and the session may be on a missing one"
            )
        return self._living.get(tag)

    def candidates(self, place: Destination) -> list[Backend]:
        """Backends that may take a request of an environment, or of none in particular; the best first.

        Raises `unavailable` if there is none now, and `draining`.
        """
        if place.begins and self.draining:
            raise Problem("draining", "the server is about to stop")
        known = place.env in self.entries
        chosen = [one for one in self._living.values() if not known or place.env in one.entries]
        if place.begins:
            chosen = [one for one in chosen if one.status != "draining"] or chosen
        if not chosen:
            raise Problem("unavailable", UNAVAILABLE)
        return sorted(chosen, key=lambda one: one.load)


def full(figures: Iterable[tuple[int, int]]) -> Problem:
    """The problem `capacity` from the sessions and the limit of each full server."""
    pairs = list(figures)
    active, most = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    text = f"{active} of {most} sessions are in use"
    return Problem("capacity", text, active_sessions=active, max_sessions=most)


def worker_lost(retryable: bool = False) -> Problem:
    """The problem of a request whose server was lost. It has no reward."""
    failure = {"kind": "worker-lost", "message": LOST_TEXT}
    return Problem("worker-lost", LOST_TEXT, retryable=retryable, failure=failure)
