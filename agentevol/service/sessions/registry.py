"""Session table of a policy service: leases, endings and tombstones.

Each session has exactly one ending. It is over once its episode is in the table; then its records are dropped
and a tombstone shows for a while how it ended.
"""

import asyncio
import logging
import secrets
from collections import Counter, deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from agentevol.service.errors import Refusal
from agentevol.service.metrics import Metrics
from agentevol.service.sessions.session import Origin, Session
from agentevol.service.sessions.trajectory import Outcome, check, samples, succeeds, trajectory
from agentevol.service.sessions.writer import Table
from agentgym_server.clock import Clock
from agentgym_server.monitoring.logs import about
from agentgym_server.settings import ServerSettings
from agentgym_store.errors import StoreError
from agentgym_store.records import Cancelled, Failed

log = logging.getLogger("agentevol.service")

SWEEP_S = 0.5
RETRY_S = 5.0
"""Delay before an expired session that could not be stored is stored again, seconds."""
STOPPED = "service-stopped"
"""Failure kind of an episode that was open when the service stopped."""


class Sessions:
    """Sessions by id, and the table that stores them; `release` frees the engine's state of one."""

    def __init__(
        self,
        settings: ServerSettings,
        clock: Clock,
        table: Table,
        metrics: Metrics,
        release: Callable[[Session], None],
    ) -> None:
        self._settings, self._clock, self._table = settings, clock, table
        self._metrics, self._release = metrics, release
        self._sessions: dict[str, Session] = {}
        self._open: dict[str, Session] = {}
        self._graves: deque[tuple[float, str]] = deque()
        self._attempts = Counter(table.attempts())
        self._sweeper: asyncio.Task[None] | None = None
        self.draining = False
        self.idle = asyncio.Event()
        """Set while no session is open."""
        self.idle.set()
        self.created = 0
        self.finished: Counter[str] = Counter()
        """Sessions by ending."""

    @property
    def active(self) -> int:
        """Sessions that have not ended."""
        return len(self._open)

    def open(
        self, origin: Callable[[int], Origin], key: tuple[str, str, int], ttl_s: float | None
    ) -> Session:
        """Start an episode; `origin` is called with its attempt number at `key` (environment, task,
        iteration).

        Raises `Refusal` at capacity.
        """
        if self.draining:
            raise Refusal(503, "draining", "the service is about to stop")
        if self.active >= self._settings.max_sessions:
            raise Refusal(503, "capacity", f"all {self._settings.max_sessions} sessions are in use")
        now = self._clock.now()
        attempt = self._attempts[key]
        self._attempts[key] += 1
        lease_ttl_s = min(ttl_s or self._settings.lease_ttl_s, self._settings.max_lease_ttl_s)
        session = Session(
            id=f"s_{secrets.token_urlsafe(18)}",
            origin=origin(attempt),
            lease_ttl_s=lease_ttl_s,
            expires_at=now + lease_ttl_s,
            began=now,
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )
        self._sessions[session.id] = self._open[session.id] = session
        self.idle.clear()
        self.created += 1
        self._metrics.created.inc()
        return session

    def find(self, session_id: str) -> Session:
        """A session or its tombstone. Raises `Refusal`."""
        session = self._sessions.get(session_id)
        if session is None:
            raise Refusal(404, "session_not_found", "no session has this id")
        return session

    def living(self, session_id: str) -> Session:
        """An open session. Raises `Refusal`."""
        session = self.find(session_id)
        if session.is_expired(self._clock.now()):
            self._expire(session)
        if session.state != "open":
            raise closed(session)
        return session

    async def end(self, session: Session, outcome: Outcome) -> dict[str, Any]:
        """Store the episode and return its summary; the same outcome again returns the same.

        Raises `Refusal` if it cannot end so, and if the table cannot be written: then it continues.
        """
        if session.leaving is None:
            check(session, outcome)
            self._begin_to_end(session, outcome)
        elif session.outcome != outcome:
            raise closed(session)
        assert session.leaving is not None
        return await asyncio.shield(session.leaving)

    def sweep(self) -> None:
        """Cancel sessions whose lease is over, and remove old tombstones."""
        now = self._clock.now()
        for session in [one for one in self._open.values() if one.is_expired(now)]:
            self._expire(session)
        while self._graves and now >= self._graves[0][0]:
            del self._sessions[self._graves.popleft()[1]]

    def keep_sweeping(self) -> None:
        """Sweep twice a second while this event loop runs."""
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep_on())

    async def shut(self) -> None:
        """Stop sweeping; open sessions fail and are stored."""
        self.draining = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        stopped = Outcome(Failed(failure=STOPPED, detail="the service stopped before the episode ended"))
        for session in list(self._open.values()):
            if session.leaving is None:
                self._begin_to_end(session, stopped)
        tasks = [session.leaving for session in self._open.values() if session.leaving is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            self.sweep()

    def _expire(self, session: Session) -> None:
        self._begin_to_end(session, Outcome(Cancelled()))

    def _begin_to_end(self, session: Session, outcome: Outcome) -> None:
        session.state, session.outcome = "ending", outcome
        session.leaving = asyncio.get_running_loop().create_task(self._ended(session, outcome))
        session.leaving.add_done_callback(_looked_at)

    async def _ended(self, session: Session, outcome: Outcome) -> dict[str, Any]:
        self._release(session)
        wall_s = self._clock.now() - session.began
        episode = trajectory(session, outcome, self._table.run, wall_s)
        try:
            version = await self._table.append(episode)
        except StoreError as cause:
            log.error("an episode is not in the table", extra=about(session=session.id, reason=str(cause)))
            session.state, session.outcome, session.leaving = "open", None, None
            session.expires_at = max(session.expires_at, self._clock.now() + RETRY_S)
            raise Refusal(503, "table_error", f"the table cannot be written, try again: {cause}") from cause
        total = episode.total_reward
        summary = {
            "session_id": session.id,
            "episode_id": episode.id,
            "ending": outcome.ending.model_dump(),
            "total_reward": total,
            "success": None if total is None else succeeds(total),
            "turns": len(episode.turns),
            "samples": samples(session.played()),
            "table_version": version,
        }
        self._bury(session)
        return summary

    def _bury(self, session: Session) -> None:
        session.state = "ended"
        session.records = []
        del self._open[session.id]
        if not self._open:
            self.idle.set()
        assert isinstance(session.outcome, Outcome)
        self.finished[session.outcome.ending.kind] += 1
        self._metrics.finished.labels(session.outcome.ending.kind).inc()
        self._graves.append((self._clock.now() + self._settings.tombstone_s, session.id))
        if len(self._graves) > self._settings.retained_sessions:
            del self._sessions[self._graves.popleft()[1]]


def closed(session: Session) -> Refusal:
    """The refusal of a session that has ended."""
    kind = session.outcome.ending.kind if isinstance(session.outcome, Outcome) else "over"
    return Refusal(410, "session_closed", f"the session has ended: {kind}")


def _looked_at(task: "asyncio.Task[dict[str, Any]]") -> None:
    """Mark a failed ending as seen: its callers are told; unexpected errors are logged too."""
    cause = None if task.cancelled() else task.exception()
    if cause is not None and not isinstance(cause, Refusal):
        log.error("an episode did not end", exc_info=cause)
