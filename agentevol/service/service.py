"""Policy service: an engine, the recorded sessions, and the table that stores them."""

import secrets
import time
from collections.abc import Callable
from typing import Any

from agentevol.core.protocols import Checkpoint, Sampling
from agentevol.engines.interfaces import TokenEngine
from agentevol.service.chat.request import parse_chat
from agentevol.service.completions import sampled
from agentevol.service.errors import Refusal
from agentevol.service.metrics import Metrics
from agentevol.service.requests import SessionBody
from agentevol.service.responses import reply
from agentevol.service.sessions.records import LOST, Record
from agentevol.service.sessions.registry import Sessions
from agentevol.service.sessions.session import Origin, Session
from agentevol.service.sessions.trajectory import Outcome
from agentevol.service.sessions.writer import Table
from agentevol.service.settings import MODEL, ServiceSettings
from agentevol.service.weights import Weights
from agentgym_server.clock import Clock
from agentgym_server.wire.reply import Headers, Reply


class Service:
    """State and operations behind the routes. Without a table nothing is recorded, and there are no sessions.

    Must be created within a running event loop.
    """

    def __init__(
        self,
        engine: TokenEngine,
        checkpoint: Checkpoint,
        table: Table | None,
        settings: ServiceSettings,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.clock = Clock(now)
        self.metrics = Metrics()
        self.weights = Weights(engine, checkpoint, settings.update_wait_s)
        self.table = table
        self._in_flight = 0
        self._began = self.clock.now()
        self._sessions = (
            None
            if table is None
            else Sessions(settings.server, self.clock, table, self.metrics, self._release)
        )
        self.metrics.gauge("agentevol_sessions_active", "Open sessions.", lambda: self._active)
        self.metrics.gauge("agentevol_calls_in_flight", "Calls under way.", lambda: self._in_flight)
        self.metrics.gauge(
            "agentevol_policy_version", "Of the weights.", lambda: self.weights.checkpoint.version
        )

    @property
    def sessions(self) -> Sessions:
        """The sessions. Raises `Refusal` if nothing is recorded."""
        if self._sessions is None:
            raise Refusal(501, "no_table", "nothing is recorded here: start the service with --out TABLE")
        return self._sessions

    def start(self) -> None:
        """Start to expire leases."""
        if self._sessions is not None:
            self._sessions.keep_sweeping()

    def drain(self) -> None:
        """Refuse new sessions; open ones continue."""
        if self._sessions is not None:
            self._sessions.draining = True

    async def idle(self) -> None:
        """Wait until no session is open."""
        if self._sessions is not None:
            await self._sessions.idle.wait()

    async def abandon(self) -> None:
        """Fail open sessions and store them."""
        if self._sessions is not None:
            await self._sessions.shut()

    async def chat(self, body: object, session_id: str, request_id: str, gone: Callable[[], bool]) -> Reply:
        """Answer a call, and record it if it belongs to a session (`session_id` is not empty).

        `gone` returns True once its client has disconnected. Raises `Refusal`, and the problem `validation`.
        """
        session = self.sessions.living(session_id) if session_id else None
        counter = self.metrics.calls if session is not None else self.metrics.plain_calls
        try:
            answer, result = await self._chat(body, session, request_id, gone)
        except Refusal as refusal:
            counter.labels("refused" if refusal.status < 500 else "failed").inc()
            raise
        counter.labels(result).inc()
        return answer

    async def _chat(
        self, body: object, session: Session | None, request_id: str, gone: Callable[[], bool]
    ) -> tuple[Reply, str]:
        rules = self.settings.plain if session is None else self.settings.captured
        request = parse_chat(body, MODEL, rules)
        self._check_room(session)
        self._in_flight += 1
        try:
            async with self.weights.used():
                records = await sampled(
                    self.weights, request, session, request_id, self.settings.call_timeout_s
                )
                renderer = self.weights.template.renderer
        finally:
            self._in_flight -= 1
        lost = gone()
        headers: Headers = ()
        if session is not None:
            self._record(session, records, lost)
            headers = ((b"x-agentevol-call", b"%d" % records[0].call),)
        self._count(records)
        return reply(request, records, renderer, headers), "lost" if lost else "ok"

    def open(self, body: SessionBody) -> Session:
        """Start an episode. Raises `Refusal`."""
        checkpoint = self.weights.checkpoint
        seed = secrets.randbits(31) if body.seed is None else body.seed

        def origin(attempt: int) -> Origin:
            return Origin(
                task_id=body.task_id,
                env=body.env,
                instruction=body.instruction,
                seed=seed,
                iteration=checkpoint.version,
                policy=checkpoint.path.name,
                attempt=attempt,
                group=body.group,
                metadata=body.metadata,
            )

        key = (body.env, body.task_id, checkpoint.version)
        return self.sessions.open(origin, key, body.lease_ttl_s)

    async def end(self, session_id: str, outcome: Outcome) -> dict[str, Any]:
        """End an episode and return its summary. Raises `Refusal`."""
        return await self.sessions.end(self.sessions.find(session_id), outcome)

    async def update(self, model: str) -> Checkpoint:
        """Replace the weights. Raises `Refusal`."""
        try:
            fresh = await self.weights.update(model)
        except Refusal:
            self.metrics.updates.labels("refused").inc()
            raise
        self.metrics.updates.labels("ok").inc()
        return fresh

    @property
    def status(self) -> str:
        """`healthy`, `updating`, `draining`, or `failed` if the engine is broken."""
        if self.weights.broken is not None or self.weights.engine.lost:
            return "failed"
        if self._sessions is not None and self._sessions.draining:
            return "draining"
        return "updating" if self.weights.updating else "healthy"

    def health(self) -> dict[str, Any]:
        """Liveness, and the served model."""
        checkpoint, server = self.weights.checkpoint, self.settings.server
        sessions = {"active": self._active, "max": server.max_sessions}
        return {
            "status": self.status,
            "model": checkpoint.path.name,
            "policy_version": checkpoint.version,
            "uptime_s": round(self.clock.now() - self._began, 3),
            "calls_in_flight": self._in_flight,
            "sessions": sessions,
            "created": 0 if self._sessions is None else self._sessions.created,
            "finished": {} if self._sessions is None else dict(self._sessions.finished),
        }

    @property
    def _active(self) -> int:
        return 0 if self._sessions is None else self._sessions.active

    def _check_room(self, session: Session | None) -> None:
        if self._in_flight >= self.settings.server.max_in_flight:
            raise Refusal(429, "too_many_in_flight", f"{self._in_flight} calls are under way")
        if session is not None and session.calls >= self.settings.max_calls:
            raise Refusal(400, "too_many_calls", f"a session has at most {self.settings.max_calls} calls")

    def _record(self, session: Session, records: list[Record], lost: bool) -> None:
        for record in records:
            record.finish_reason = LOST if lost else record.finish_reason
            forks = session.forks
            session.add(record)
            self.metrics.forks.inc(session.forks - forks)
        session.renew(self.clock.now())

    def _count(self, records: list[Record]) -> None:
        self.metrics.tokens.labels("prompt").inc(len(records[0].sample.prompt_ids))
        self.metrics.tokens.labels("sampled").inc(sum(len(one.sample.token_ids) for one in records))
        self.metrics.seconds.observe(records[0].latency_s)

    def _release(self, session: Session) -> None:
        """Cancel the sampling of a session, and free its state in the engine."""
        policy = self.weights.engine.serve(Sampling())
        for name in {session.id, *session.speaking}:
            policy.release(name)
