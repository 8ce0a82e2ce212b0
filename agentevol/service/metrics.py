"""Metrics of a policy service in Prometheus' text format 0.0.4."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from agentgym_server.monitoring.histograms import BOUNDS_S
from agentgym_server.monitoring.metrics import resident_bytes


class Metrics:
    """Counters of one service. Labels come from closed sets."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry(auto_describe=False)
        self.requests = Counter(
            "agentevol_http_requests", "HTTP requests.", ("route", "method", "status"), registry=own
        )
        self.calls = Counter(
            "agentevol_capture_calls", "Recorded calls by result.", ("result",), registry=own
        )
        self.plain_calls = Counter(
            "agentevol_plain_calls", "Calls without a session by result.", ("result",), registry=own
        )
        self.tokens = Counter(
            "agentevol_tokens", "Tokens of prompts, and sampled ones.", ("kind",), registry=own
        )
        self.forks = Counter(
            "agentevol_capture_forks", "Recorded calls that did not go on from a reply.", registry=own
        )
        self.created = Counter("agentevol_sessions_created", "Sessions created.", registry=own)
        self.finished = Counter(
            "agentevol_sessions_finished", "Sessions by their one ending.", ("outcome",), registry=own
        )
        self.updates = Counter("agentevol_weight_updates", "Weights swapped.", ("result",), registry=own)
        self.seconds = Histogram(
            "agentevol_call_seconds", "Time to sample a reply.", registry=own, buckets=BOUNDS_S
        )
        self.gauge("process_resident_memory_bytes", "Resident memory of the service.", resident_bytes)

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is read on request."""
        Gauge(name, text, registry=self._registry).set_function(value)

    def exposition(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)
