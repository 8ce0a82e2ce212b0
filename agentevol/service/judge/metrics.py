"""Metrics of a judge service in Prometheus' text format 0.0.4."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from agentevol.data.judgements.outcomes import Failed, Ok
from agentgym_server.lanes.exposition import counter, histogram, traffic
from agentgym_server.monitoring.histograms import Histograms
from agentgym_server.monitoring.metrics import resident_bytes

if TYPE_CHECKING:
    from agentevol.service.judge.service import JudgeService


class JudgeMetrics:
    """Counters of judgements. Labels come from closed sets: outcomes, and the judges that are configured."""

    def __init__(self) -> None:
        self.judgements: Counter[str] = Counter()
        """Items by outcome."""
        self.opinions: Counter[tuple[str, str]] = Counter()
        """Items by judge and its outcome."""
        self.seconds = Histograms()
        """Time of a request, by whether all of its items are ok."""

    def count(self, judgements: Sequence[Ok | Failed]) -> None:
        """Count the judgements of a request."""
        for one in judgements:
            self.judgements[_outcome(one)] += 1
            for opinion in one.opinions:
                self.opinions[opinion.judge, "ok" if opinion.status == "ok" else opinion.kind] += 1


def exposition(service: "JudgeService") -> bytes:
    """All metrics of a service as text."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(service))
    return generate_latest(registry)


class _Collector:
    """Collector for `prometheus_client`."""

    def __init__(self, service: "JudgeService") -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        """Every metric of the service."""
        metrics = self._service.judged
        judgements = {(outcome,): number for outcome, number in metrics.judgements.items()}
        yield counter("agentevol_judgements", "Items by outcome.", ("outcome",), judgements.items())
        labels = ("judge", "outcome")
        yield counter("agentevol_judge_opinions", "Items by judge.", labels, metrics.opinions.items())
        yield histogram("agentevol_judge_request_seconds", "Time to judge.", "result", metrics.seconds)
        yield from self._usage()
        active = self._service.active
        yield GaugeMetricFamily("agentevol_judge_requests_active", "Requests being judged.", value=active)
        yield from traffic(self._service.metrics)
        memory = resident_bytes()
        yield GaugeMetricFamily("process_resident_memory_bytes", "Memory of the service.", value=memory)

    def _usage(self) -> Iterator[Metric]:
        usage = self._service.usage()
        calls = {(judge,): one.requests for judge, one in usage.items()}
        cached = {(judge,): one.cached for judge, one in usage.items()}
        tokens = {(judge, "prompt"): one.prompt_tokens for judge, one in usage.items()}
        tokens |= {(judge, "completion"): one.completion_tokens for judge, one in usage.items()}
        cost = {(judge,): one.cost for judge, one in usage.items() if one.cost is not None}
        yield counter("agentevol_judge_calls", "Calls of endpoints.", ("judge",), calls.items())
        yield counter("agentevol_judge_cached", "Answers without a call.", ("judge",), cached.items())
        yield counter("agentevol_judge_tokens", "Tokens of calls.", ("judge", "kind"), tokens.items())
        yield counter("agentevol_judge_cost_dollars", "Cost of calls.", ("judge",), cost.items())


def _outcome(judgement: Ok | Failed) -> str:
    return "ok" if isinstance(judgement, Ok) else judgement.kind
