"""Exposition of a server's metrics in Prometheus' text format 0.0.4."""

from collections import Counter
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from agentgym_server.monitoring.histograms import Histograms
from agentgym_server.monitoring.metrics import Metrics, resident_bytes
from agentgym_server.service import Service

Samples = Iterable[tuple[tuple[str, ...], float]]


def exposition(service: Service) -> bytes:
    """All metrics of a server as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(service))
    return generate_latest(registry)


class _Collector:
    """Collector for `prometheus_client`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Every metric of the server."""
        yield from self._sessions()
        yield from self._steps()
        yield from self._traffic()
        yield from self._machine()

    def _sessions(self) -> Iterator[Metric]:
        registry, envs = self._service.registry, self._service.catalogue.served
        finished = {(env, outcome): n for (env, outcome), n in registry.finished.items()}
        ended = {env: sum(n for (name, _), n in finished.items() if name == env) for env in envs}
        active = {(env,): registry.created[env] - ended[env] for env in envs}
        created = {(env,): registry.created[env] for env in envs}
        yield gauge("agentevol_sessions_active", "Open sessions.", ("env",), active.items())
        yield counter("agentevol_sessions_created", "Sessions created.", ("env",), created.items())
        yield counter(
            "agentevol_sessions_finished",
            "Sessions by their one ending.",
            ("env", "outcome"),
            finished.items(),
        )
        stored = Counter[tuple[str]]()
        for session in registry.living():
            stored[session.origin.env,] += session.stored_bytes
        yield gauge("agentevol_sessions_stored_bytes", "Actions and replies kept.", ("env",), stored.items())
        rejections = {(env,): n for env, n in self._service.metrics.rejections.items()}
        yield counter(
            "agentevol_capacity_rejections",
            "Sessions refused at capacity.",
            ("env",),
            rejections.items(),
        )

    def _steps(self) -> Iterator[Metric]:
        metrics = self._service.metrics
        yield counter("agentevol_steps", "Step requests.", ("env", "result"), metrics.steps.items())
        yield histogram("agentevol_step_seconds", "Environment time of a step.", "env", metrics.step_seconds)
        yield histogram("agentevol_queue_seconds", "Wait for a worker.", "env", metrics.queue_seconds)
        waiting = {(env,): self._service.waiting(env) for env in self._service.catalogue.served}
        yield gauge(
            "agentevol_waiting_operations", "Coroutines of environments under way.", ("env",), waiting.items()
        )

    def _traffic(self) -> Iterator[Metric]:
        metrics = self._service.metrics
        yield from traffic(metrics)
        yield GaugeMetricFamily("agentevol_ws_connections", "Open WebSockets.", value=metrics.connections)
        captures = {(result,): n for result, n in metrics.captures.items()}
        yield counter("agentevol_capture_calls", "Calls of the capture proxy.", ("result",), captures.items())

    def _machine(self) -> Iterator[Metric]:
        pools = self._service.pools
        restarts = {(env, reason): n for env, pool in pools.items() for reason, n in pool.restarts.items()}
        alive = {(env,): pool.alive for env, pool in pools.items()}
        memory = {(env,): sum(pool.memory.values()) for env, pool in pools.items()}
        labels = ("env", "reason")
        yield counter("agentevol_worker_restarts", "Workers replaced.", labels, restarts.items())
        yield gauge("agentevol_workers_alive", "Workers that take episodes.", ("env",), alive.items())
        yield gauge(
            "agentevol_worker_private_memory_bytes",
            "Memory of workers beyond what they share.",
            ("env",),
            memory.items(),
        )
        yield GaugeMetricFamily(
            "process_resident_memory_bytes", "Resident memory of the server process.", value=resident_bytes()
        )


def traffic(metrics: Metrics) -> Iterator[Metric]:
    """HTTP requests, with their number and duration."""
    requests = {(route, method, str(status)): n for (route, method, status), n in metrics.requests.items()}
    labels = ("route", "method", "status")
    yield counter("agentevol_http_requests", "HTTP requests.", labels, requests.items())
    yield histogram("agentevol_http_request_seconds", "Time to reply.", "route", metrics.request_seconds)


def counter(name: str, text: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    """A counter with its samples by the values of its labels."""
    family = CounterMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def gauge(name: str, text: str, labels: tuple[str, ...], samples: Samples) -> Metric:
    """A gauge with its samples by the values of its labels."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


def histogram(name: str, text: str, label: str, histograms: Histograms) -> Metric:
    """Histograms by the value of their label."""
    family = HistogramMetricFamily(name, text, labels=(label,))
    for value, histogram in histograms.items():
        family.add_metric((value,), histogram.buckets(), histogram.total_s)
    return family
