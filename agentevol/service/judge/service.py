"""Judge service: the judges, and the requests that they work on."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, cast

from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentevol.data.judgements.outcomes import Failed, Ok, Usage, counted
from agentevol.data.judgements.panel import Asked, Panel, described_judges
from agentevol.data.judgements.summary import summary
from agentevol.service.judge.bodies import JudgementsBody, JudgementsReply
from agentevol.service.judge.metrics import JudgeMetrics
from agentevol.service.judge.settings import JudgeSettings
from agentgym_server.clock import Clock
from agentgym_server.monitoring.metrics import Metrics
from agentgym_server.service import API_VERSION
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.requests import invalid, validated

ValueT = TypeVar("ValueT")


class JudgeService:
    """State and operations behind the routes. Must be created within a running event loop."""

    def __init__(
        self, panel: Panel, settings: JudgeSettings, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.settings = settings.server
        self.clock = Clock(now)
        self.metrics = Metrics()
        self.judged = JudgeMetrics()
        self._limits = settings
        self._panel = panel
        self._draining = False
        self._running: set[asyncio.Task[Any]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._began = self.clock.now()

    @property
    def status(self) -> str:
        """`healthy` or `draining`."""
        return "draining" if self._draining else "healthy"

    @property
    def active(self) -> int:
        """Requests that are being judged."""
        return len(self._running)

    def health(self) -> dict[str, Any]:
        """Liveness, judges and outcomes so far."""
        return {
            "status": self.status,
            "api_version": API_VERSION,
            "uptime_s": round(self.clock.now() - self._began, 3),
            "requests": {"active": self.active, "max": self._limits.max_requests},
            "judges": [one.name for one in self._panel.judges],
            "judged": dict(self.judged.judgements),
        }

    def judges(self) -> dict[str, Any]:
        """The judges, and what is asked of them by default."""
        return {
            "judges": described_judges(self._panel.judges),
            "asked": self._limits.asked.model_dump(mode="json"),
            "max_items": self._limits.max_items,
        }

    def usage(self) -> Mapping[str, Usage]:
        """Calls of each judge that is a model, those of cancelled requests included."""
        models = [one for one in self._panel.judges if isinstance(one, EndpointJudge)]
        return {one.name: one.usage for one in models}

    async def judgements(self, body: object) -> JudgementsReply:
        """Judgements of a request. Raises the problems `payload-too-large`, `validation`,
        `too-many-in-flight` and `draining`.
        """
        self._check_size(body)
        request = validated(JudgementsBody, body)
        panel = self._chosen(request)
        if self._draining:
            raise Problem("draining", "the service stops")
        if self.active >= self._limits.max_requests:
            raise Problem("too-many-in-flight", f"{self.active} requests are being judged")
        began = time.perf_counter()
        found = await self._tracked(_judged(panel, request, request.asked(self._limits.asked)))
        self.judged.count(found)
        result = "ok" if set(counted(found)) == {"ok"} else "failed"
        self.judged.seconds[result].observe(time.perf_counter() - began)
        return JudgementsReply(judgements=found, summary=summary(found))

    def drain(self) -> None:
        """Refuse new requests; running ones go on."""
        self._draining = True

    async def idle(self) -> None:
        """Wait until no request is being judged."""
        await self._idle.wait()

    async def abandon(self) -> None:
        """Refuse new requests, and end the running ones: their callers get the problem `draining`."""
        self._draining = True
        for task in self._running:
            task.cancel()

    def _check_size(self, body: object) -> None:
        items = cast("dict[str, object]", body).get("items") if isinstance(body, dict) else None
        most = self._limits.max_items
        if isinstance(items, list) and len(cast("list[object]", items)) > most:
            raise Problem("payload-too-large", f"a request may have at most {most} items", max_items=most)

    def _chosen(self, request: JudgementsBody) -> Panel:
        if request.judges is None:
            return self._panel
        try:
            return self._panel.of(request.judges)
        except ValueError as cause:
            raise invalid(("/judges", str(cause))) from None

    async def _tracked(self, work: Coroutine[Any, Any, ValueT]) -> ValueT:
        """The result of a task that `abandon` cancels."""
        task = asyncio.create_task(work)
        self._running.add(task)
        self._idle.clear()
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if self._draining and caller is not None and not caller.cancelling():
                raise Problem("draining", "the service stops") from None
            raise
        finally:
            self._running.discard(task)
            if not self._running:
                self._idle.set()


async def _judged(panel: Panel, request: JudgementsBody, asked: Asked) -> list[Ok | Failed]:
    async with asyncio.TaskGroup() as tasks:
        judging = [tasks.create_task(panel.judge(item, asked)) for item in request.items]
    return [one.result() for one in judging]
