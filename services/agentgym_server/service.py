"""Service of one server: its catalogue, hosts and episodes, with their life cycle."""

import os
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from agentgym_server.catalogue import Catalogue
from agentgym_server.clock import Clock
from agentgym_server.monitoring.metrics import Metrics
from agentgym_server.sessions.episodes import Episodes
from agentgym_server.sessions.registry import Registry
from agentgym_server.sessions.session import instance_tag
from agentgym_server.settings import ServerSettings
from agentgym_server.workers.hosts import Factory, LoopHost
from agentgym_server.workers.pool import PoolTimes, WorkerLimits, WorkerPool

API_VERSION = "1"
MOST_AUTOMATIC_WORKERS = 4


class Service:
    """State and operations behind the routes."""

    def __init__(
        self,
        factories: Mapping[str, Factory],
        settings: ServerSettings,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.clock = Clock(now)
        self.catalogue = Catalogue(factories, settings)
        self.metrics = Metrics()
        self._loop_host, self.pools = self._hosts(factories)
        hosts = {name: self.pools.get(name, self._loop_host) for name in factories}
        self.episodes = Episodes(self.catalogue, hosts, settings, self.clock, self.metrics)
        self._started_at = self.clock.now()
        self.started = False

    @property
    def registry(self) -> Registry:
        """The sessions."""
        return self.episodes.registry

    async def start(self) -> None:
        """Load every environment and start the workers; raises `WorkerStartFailed`."""
        for host in (self._loop_host, *self.pools.values()):
            await host.start()
        self.registry.keep_sweeping()
        self.started = True

    async def close(self) -> None:
        """Close all sessions and stop the workers."""
        await self.registry.shut()
        for host in (self._loop_host, *self.pools.values()):
            await host.close()
        self.catalogue.close()

    def drain(self) -> None:
        """Refuse new sessions; open ones continue."""
        self.episodes.draining = True

    async def idle(self) -> None:
        """Wait until no session is open."""
        await self.registry.idle.wait()

    async def abandon(self) -> None:
        """Refuse new sessions, and fail those that are open."""
        self.drain()
        self.registry.abandon()

    @property
    def status(self) -> str:
        """`healthy`, `degraded` while workers are down, or `draining`."""
        if self.episodes.draining:
            return "draining"
        whole = all(pool.alive == pool.count for pool in self.pools.values())
        return "healthy" if whole or not self.started else "degraded"

    @property
    def ready(self) -> bool:
        """True if sessions may be created."""
        return self.started and not self.episodes.draining

    def health(self) -> dict[str, Any]:
        """Liveness and capacity."""
        registry, pools = self.registry, self.pools.values()
        return {
            "status": self.status,
            "api_version": API_VERSION,
            "instance": instance_tag(self.settings.instance),
            "server": f"agentevol/{release()}",
            "uptime_s": round(self.clock.now() - self._started_at, 3),
            "sessions": {
                "active": registry.active,
                "max": self.settings.max_sessions,
                "free": registry.capacity.free,
            },
            "workers": {
                "alive": sum(pool.alive for pool in pools),
                "restarts": sum(pool.restarts.total() for pool in pools),
            },
            "created": sum(registry.created.values()),
            "finished": registry.totals(),
        }

    def waiting(self, env: str) -> int:
        """Coroutines of an environment under way, those that queue included."""
        pool = self.pools.get(env)
        return self._loop_host.waiting[env] if pool is None else pool.waiting

    def _hosts(self, factories: Mapping[str, Factory]) -> tuple[LoopHost, dict[str, WorkerPool]]:
        blocking = [
            name
            for name in factories
            if self.settings.workers or self.catalogue.served[name].environment.blocking
        ]
        cheap = {name: factory for name, factory in factories.items() if name not in blocking}
        return LoopHost(cheap, self.metrics.step_seconds, self.settings.max_queue), {
            name: self._pool(name, factories[name]) for name in blocking
        }

    def _pool(self, name: str, factory: Factory) -> WorkerPool:
        count = self.settings.workers or min(MOST_AUTOMATIC_WORKERS, os.cpu_count() or 1)
        limits = WorkerLimits(self.settings.max_queue, self.settings.worker_memory_bytes)
        times = PoolTimes(self.metrics.queue_seconds[name], self.metrics.step_seconds[name])
        return WorkerPool(
            name, factory, count, limits, times, lambda key, fault: self.registry.fail(key, fault)
        )


def release() -> str:
    """The version of the installed distribution."""
    try:
        return version("agentevol")
    except PackageNotFoundError:  # a source tree without installation
        return "0.1.0"
