"""Session registry: all sessions of a server, with their outcomes, leases and tombstones.

A session is open, then ended (the episode is over, its replies remain), then gone: failed, expired or closed,
with a tombstone for a while. Each has exactly one outcome, set when it stops being open; its slot is then
free and its environment dropped. Created sessions are the active ones plus the finished ones, at any time.
"""

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from typing import Any

from agentgym_server.clock import Clock
from agentgym_server.monitoring.logs import about
from agentgym_server.sessions.capacity import Capacity
from agentgym_server.sessions.session import (
    ENDINGS,
    Ending,
    FailedStep,
    Session,
    SharedEpisode,
    State,
)
from agentgym_server.settings import ServerSettings
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.workers.hosts import HostFault

log = logging.getLogger(__name__)

SWEEP_S = 0.5
FAILURE_TITLES = {
    "worker-lost": "the worker of this episode died",
    "step-timeout": "the environment did not answer in time",
    "internal": "the environment broke",
    "partner": "the partner left the episode, or failed",
    "judge": "the judge of this episode failed",
    "verifier": "the verifier of this episode failed",
}


class Registry:
    """Sessions by id."""

    def __init__(self, settings: ServerSettings, clock: Clock) -> None:
        self.capacity = Capacity(settings.max_sessions)
        self._settings = settings
        self._clock = clock
        self._sessions: dict[str, Session] = {}
        self._open: dict[str, Session] = {}
        self._ended: OrderedDict[str, Session] = OrderedDict()
        self._shared: dict[str, SharedEpisode] = {}
        self._graves: deque[tuple[float, Session]] = deque()
        self._sweeper: asyncio.Task[None] | None = None
        self.idle = asyncio.Event()
        """Set while no session is open."""
        self.idle.set()
        self.created: Counter[str] = Counter()
        """Sessions by environment."""
        self.finished: Counter[tuple[str, Ending]] = Counter()
        """Sessions by environment and outcome."""

    @property
    def active(self) -> int:
        """Open sessions."""
        return len(self._open)

    def totals(self) -> dict[str, int]:
        """Finished sessions by outcome."""
        return {
            ending: sum(n for (_, outcome), n in self.finished.items() if outcome == ending)
            for ending in ENDINGS
        }

    def living(self) -> list[Session]:
        """Sessions that are open, or ended and kept."""
        return [*self._open.values(), *self._ended.values()]

    def add(self, session: Session) -> None:
        """Enter a new session; its slot has been taken."""
        self._sessions[session.id] = self._open[session.id] = session
        self.idle.clear()
        self.created[session.origin.env] += 1

    def add_shared(self, shared: SharedEpisode) -> None:
        """Enter an episode with several seats, whose sessions hold their slots."""
        self._shared[shared.id] = shared
        for session in shared.sessions.values():
            self.add(session)

    def find(self, session_id: str) -> Session:
        """A session or its tombstone; raises the problem `session-not-found`."""
        session = self._sessions.get(session_id)
        if session is None:
            raise _unknown(session_id)
        now = self._clock.now()
        if session.is_expired(now):
            self.expire(session)
        if session.purge_at is not None and now >= session.purge_at:
            del self._sessions[session_id]
            raise _unknown(session_id)
        return session

    def end(self, session: Session) -> None:
        """End a session whose episode is over: terminated or truncated."""
        session.state = "ended"
        self._finish(session, "terminated" if session.terminated else "truncated")
        self._ended[session.id] = session
        if len(self._ended) > self._settings.retained_sessions:
            self.expire(next(iter(self._ended.values())))

    def fail(self, key: str, fault: HostFault, step: FailedStep | None = None) -> None:
        """Fail a session, or all sessions of an episode, because of the environment.

        Sessions that are not open (any more) are left alone.
        """
        shared = self._shared.get(key)
        if shared is not None:
            for session in shared.open:
                self.fail(session.id, fault)
            return
        session = self._open.get(key)
        if session is None:
            return
        running, session.running = session.running, None
        turn = session.turn + 1
        if step is None and running is not None:
            step = FailedStep(running.turn, running.action, self.failure_problem(fault, turn))
        session.state = "failed"
        session.failure = failure_view(fault, turn)
        session.failed_step = step
        self._finish(session, "failed")
        self._bury(session)
        if running is not None and step is not None and not running.reply.done():
            running.reply.set_exception(step.problem)

    def failure_problem(self, fault: HostFault, turn: int) -> Problem:
        """The problem of the failed step; it has no reward."""
        failure = failure_view(fault, turn)
        if fault.kind == "internal":
            return Problem("internal", failure["message"], incident=fault.message, failure=failure)
        return Problem(fault.kind, failure["message"], failure=failure)

    def expire(self, session: Session) -> None:
        """Expire a session."""
        self._depart(session, "expired", "lease-expired")

    def close(self, session: Session) -> None:
        """Close a session on request of its owner; a running step is cancelled."""
        running, session.running = session.running, None
        self._depart(session, "closed", "closed")
        if running is not None:
            if running.task is not None:
                running.task.cancel()
            if not running.reply.done():
                running.reply.set_exception(
                    Problem("session-closed", "the session was closed", state="closed")
                )

    def sweep(self) -> None:
        """Expire sessions whose lease is over, and remove old tombstones."""
        now = self._clock.now()
        for session in [one for one in self.living() if one.is_expired(now)]:
            self.expire(session)
        while self._graves and now >= self._graves[0][0]:
            purge_at, session = self._graves.popleft()
            if session.purge_at == purge_at:  # not renewed since
                self._sessions.pop(session.id, None)

    def keep_sweeping(self) -> None:
        """Sweep twice a second while this event loop runs."""
        if self._sweeper is None or self._sweeper.done():
            self._sweeper = asyncio.get_running_loop().create_task(self._sweep_on())

    def abandon(self) -> None:
        """Fail open sessions and running steps, since the server stops."""
        for session_id in list(self._open):
            self.fail(session_id, HostFault("worker-lost", "the server stopped"))

    async def shut(self) -> None:
        """Stop sweeping and close open sessions."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        for session in list(self._open.values()):
            self.close(session)

    async def _sweep_on(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            self.sweep()

    def _finish(self, session: Session, outcome: Ending) -> None:
        session.outcome = outcome
        session.finished_at = self._clock.now()
        level = logging.WARNING if outcome == "failed" else logging.INFO
        log.log(level, "session finished", extra=_account(session))
        self.finished[session.origin.env, outcome] += 1
        del self._open[session.id]
        if not self._open:
            self.idle.set()
        session.slot.give()
        if session.shared is None:
            session.host.drop(session.id)
        else:
            self._leave(session.shared)

    def _leave(self, shared: SharedEpisode) -> None:
        """Free the environment of an episode with several seats after its last session."""
        shared.note_change()
        if any(session.outcome is None for session in shared.sessions.values()):
            return
        self._shared.pop(shared.id, None)
        if shared.task is not None and shared.task is not asyncio.current_task():
            shared.task.cancel()
        shared.host.drop(shared.id)

    def _depart(self, session: Session, state: State, reason: str) -> None:
        leaves = session.outcome is None
        if leaves:
            session.reason = reason
            self._finish(session, "cancelled")
        self._ended.pop(session.id, None)
        session.state = state
        if leaves and session.shared is not None:
            self.fail(session.shared.id, HostFault("partner", f"seat {session.seat!r}: {reason}"))
        session.forget()
        self._bury(session)

    def _bury(self, session: Session) -> None:
        session.purge_at = self._clock.now() + self._settings.tombstone_s
        self._graves.append((session.purge_at, session))


def failure_view(fault: HostFault, turn: int) -> dict[str, Any]:
    """The `failure` member; an environment's own message stays in the log."""
    told = fault.kind in ("step-timeout", "partner", "judge", "verifier")
    text = fault.message if told else FAILURE_TITLES[fault.kind]
    return {"kind": fault.kind, "turn": turn, "message": text}


def _account(session: Session) -> dict[str, Any]:
    """The log members of a finished session, without the caller's labels and actions."""
    wall_s = (session.finished_at or session.created_at) - session.created_at
    members = about(
        session=session.id,
        env=session.origin.env,
        task=session.origin.task_id,
        outcome=session.outcome,
        turns=session.turn,
        wall_s=round(wall_s, 3),
    )
    if session.failure is not None:
        members["members"]["failure"] = session.failure["kind"]
    elif session.outcome != "failed":
        members["members"]["total_reward"] = session.total_reward
    return members


def _unknown(session_id: str) -> Problem:
    return Problem("session-not-found", "no session has this id", session_id=clipped(session_id))
