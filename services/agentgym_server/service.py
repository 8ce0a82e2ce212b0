"""One server: its catalogue, its hosts and its episodes, from first start to last session."""

import os
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from agentgym_server.catalogue import Catalogue
from agentgym_server.clock import Clock
from agentgym_server.episodes import Episodes
from agentgym_server.pool import WorkerPool
from agentgym_server.registry import Registry
from agentgym_server.rooms import Factory, Host, LoopHost
from agentgym_server.settings import ServerSettings

API_VERSION = "1"
MOST_AUTOMATIC_WORKERS = 4


class Service:
    """Everything behind the routes."""

    def __init__(
        self,
        factories: Mapping[str, Factory],
        settings: ServerSettings,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.clock = Clock(now)
        self.catalogue = Catalogue(factories, settings)
        self._loop_host, self.pool, hosts = self._hosts(factories)
        self.episodes = Episodes(self.catalogue, hosts, settings, self.clock)
        self._started_at = self.clock.now()
        self.started = False

    @property
    def registry(self) -> Registry:
        """The sessions."""
        return self.episodes.registry

    async def start(self) -> None:
        """Load every world and start the workers; raises `WorkerStartFailed`."""
        for host in (self._loop_host, self.pool):
            if host is not None:
                await host.start()
        self.registry.keep_sweeping()
        self.started = True

    async def close(self) -> None:
        """Close all sessions and stop the workers."""
        await self.registry.shut()
        for host in (self._loop_host, self.pool):
            if host is not None:
                await host.close()
        self.catalogue.close()

    def drain(self) -> None:
        """Take no new sessions; open ones go on."""
        self.episodes.draining = True

    @property
    def status(self) -> str:
        """`healthy`, `degraded` while workers are down, or `draining`."""
        if self.episodes.draining:
            return "draining"
        pool = self.pool
        return "degraded" if pool is not None and self.started and pool.alive < pool.count else "healthy"

    @property
    def ready(self) -> bool:
        """Whether sessions may be created."""
        return self.started and not self.episodes.draining

    def health(self) -> dict[str, Any]:
        """Liveness and capacity."""
        registry, pool = self.registry, self.pool
        return {
            "status": self.status,
            "api_version": API_VERSION,
            "server": f"agentevol/{release()}",
            "uptime_s": round(self.clock.now() - self._started_at, 3),
            "sessions": {"active": registry.active, "max": self.settings.max_sessions},
            "workers": {
                "alive": 0 if pool is None else pool.alive,
                "restarts": 0 if pool is None else pool.restarts,
            },
            "created": sum(registry.created.values()),
            "finished": registry.totals(),
        }

    def _hosts(
        self, factories: Mapping[str, Factory]
    ) -> tuple[LoopHost | None, WorkerPool | None, dict[str, Host]]:
        blocking = {
            name: factory
            for name, factory in factories.items()
            if self.settings.workers or self.catalogue.worlds[name].environment.blocking
        }
        cheap = {name: factory for name, factory in factories.items() if name not in blocking}
        loop_host = LoopHost(cheap) if cheap else None
        pool = None
        if blocking:
            count = self.settings.workers or min(MOST_AUTOMATIC_WORKERS, os.cpu_count() or 1)
            pool = WorkerPool(
                blocking,
                count,
                self.settings.max_queue,
                lambda key, fault: self.registry.fail(key, fault),
            )
        hosts: dict[str, Host] = {}
        for name in factories:
            host = pool if name in blocking else loop_host
            if host is not None:
                hosts[name] = host
        return loop_host, pool, hosts


def release() -> str:
    """The version of the installed distribution."""
    try:
        return version("agentevol")
    except PackageNotFoundError:  # run from a source tree
        return "0.1.0"
