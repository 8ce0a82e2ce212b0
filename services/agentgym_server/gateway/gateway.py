"""State of a gateway: its servers, their health, queues, and the records of lost sessions.

Every session id names its server. SessionRecords answers only for sessions whose server was lost.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from agentgym_server.clock import Clock
from agentgym_server.gateway.backends.delivery import Homes
from agentgym_server.gateway.backends.discovery import Source
from agentgym_server.gateway.backends.fleet import Fleet
from agentgym_server.gateway.backends.health import HealthPoller
from agentgym_server.gateway.backends.queues import Queues
from agentgym_server.gateway.backends.upstream import HttpUpstream, Upstream
from agentgym_server.gateway.records import SessionRecords
from agentgym_server.monitoring.metrics import Metrics
from agentgym_server.service import API_VERSION, release
from agentgym_server.settings import ServerSettings


class Gateway:
    """State that the endpoints, the WebSocket lane and the proxy share."""

    def __init__(
        self,
        sources: Sequence[Source],
        settings: ServerSettings,
        upstream: Upstream | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`upstream` carries requests to servers; None: over HTTP."""
        self.settings = settings
        self.clock = Clock(now)
        self.metrics = Metrics()
        self.upstream = upstream or HttpUpstream()
        self.fleet = Fleet()
        self.watch = HealthPoller(
            self.fleet, self.upstream, sources, settings.token or settings.trainer_token
        )
        self.homes = Homes(self.clock, settings.idempotency_s)
        self.records = SessionRecords(self.clock)
        self.queues = Queues(self.fleet, self.watch)
        self._started_at = self.clock.now()

    async def close(self) -> None:
        """Stop polling and close the connections."""
        await self.watch.close()
        await self.upstream.close()

    @property
    def status(self) -> str:
        """`healthy`; `degraded` while a server is missing or is not healthy itself; or `draining`."""
        if self.fleet.draining:
            return "draining"
        sound = all(backend.status == "healthy" for backend in self.fleet.living)
        return "healthy" if self.fleet.complete and self.watch.whole and sound else "degraded"

    async def health(self) -> dict[str, Any]:
        """Current health of all servers together."""
        await self.watch.refresh()
        told = [backend.health for backend in self.fleet.living]
        return {
            "status": self.status,
            "api_version": API_VERSION,
            "server": f"agentevol/{release()}",
            "uptime_s": round(self.clock.now() - self._started_at, 3),
            **{
                name: _added([health.get(name, {}) for health in told])
                for name in ("sessions", "workers", "finished")
            },
            "created": sum(health.get("created", 0) for health in told),
            "servers": [
                {
                    "name": backend.name,
                    "instance": backend.tag,
                    "status": backend.status,
                    "sessions": backend.health.get("sessions", {}),
                }
                for backend in self.fleet.living
            ],
        }

    async def environments(self) -> dict[str, Any]:
        """Every environment that a server offers."""
        return {"envs": [entry for _, entry in sorted(self.fleet.entries.items())]}


def _added(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    """Counts by name, each summed over the parts."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0) for part in parts) for name in names}
