"""Aggregated metrics of many servers: samples with the same name and labels are summed.

agentevol_steps_total{env="guess",result="ok"} 3.0      of one replica
agentevol_steps_total{env="guess",result="ok"} 4.0      of the other
agentevol_steps_total{env="guess",result="ok"} 7.0      of both
"""

import asyncio
import math
from collections.abc import Iterable

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from agentgym_server.gateway.backends.fleet import Backend
from agentgym_server.gateway.backends.upstream import Lost, Undelivered
from agentgym_server.gateway.gateway import Gateway
from agentgym_server.gateway.routing import Request
from agentgym_server.wire.reply import Headers


async def exposition(gateway: Gateway, headers: Headers) -> bytes:
    """The metrics of all servers together, and the gateway's own; `headers` carry the caller's token."""
    request = Request("GET", "/metrics", "/metrics", b"", headers)
    told = await asyncio.gather(*(_metrics_of(gateway, one, request) for one in gateway.fleet.living))
    return (summed(filter(None, told)) + own(gateway)).encode()


async def _metrics_of(gateway: Gateway, backend: Backend, request: Request) -> str:
    try:
        reply = await backend.exchange(gateway.upstream, request)
    except (Undelivered, Lost):
        return ""  # the server is lost, and its counters with it
    return reply.body.decode() if reply.status == 200 else ""


def summed(texts: Iterable[str]) -> str:
    """Sum of several expositions: families in order of first occurrence, each once."""
    families: dict[str, tuple[list[str], dict[str, float]]] = {}
    for text in texts:
        heads: list[str] = []
        samples: dict[str, float] = {}
        for line in text.splitlines():
            if line.startswith("# HELP "):
                heads, samples = families.setdefault(line.split(" ", 3)[2], ([line], {}))
            elif line.startswith("# TYPE "):
                heads[1:] = [line]
            elif line and not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                samples[name] = samples.get(name, 0.0) + float(value)
    return "".join(
        "".join(f"{line}\n" for line in (*heads, *(f"{n} {_number(v)}" for n, v in samples.items())))
        for heads, samples in families.values()
    )


def _number(value: float) -> str:
    return "+Inf" if value == math.inf else repr(value)


def own(gateway: Gateway) -> str:
    """Metrics of the gateway itself."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(gateway))
    return generate_latest(registry).decode()


class _Collector:
    """Collector for `prometheus_client`."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def collect(self) -> Iterable[Metric]:
        """Every metric of the gateway."""
        metrics = self._gateway.metrics
        up = GaugeMetricFamily("agentevol_gateway_servers_up", "Servers that answer.", labels=("name",))
        for name, count in self._gateway.watch.standing().items():
            up.add_metric((name,), count)
        lost = CounterMetricFamily("agentevol_gateway_servers_lost", "Servers that died.", labels=("name",))
        for name, count in self._gateway.fleet.losses.items():
            lost.add_metric((name,), count)
        labels = ("route", "method", "status")
        requests = CounterMetricFamily("agentevol_gateway_http_requests", "Requests.", labels=labels)
        for (route, method, status), count in metrics.requests.items():
            requests.add_metric((route, method, str(status)), count)
        yield from (up, lost, requests)
        yield GaugeMetricFamily(
            "agentevol_gateway_ws_connections", "Open WebSockets.", value=metrics.connections
        )
