"""Numbers of a run over time, from its `metrics.jsonl`: of learning, of times, and of the system."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentevol.ui.runs.curves import Curve, sparkline
from agentevol.ui.text import number

MOST_BYTES = 16 * 2**20
"""End of the file that is read."""
MOST_POINTS = 200
MOST_METRICS = 400
TITLES = {
    "learn": "learning",
    "system": "use of the system: tokens and episodes per second, waits in queues, memory",
    "seconds": "seconds of each phase",
    "evaluation": "evaluation on the held-out split",
    "validation": "evaluation on the validation split",
    "selection": "selection",
    "data": "training data",
    "faults": "faults",
    "": "counts",
}
"""Groups of metrics by the first part of their names, in the order of the page; "" has all others."""


@dataclass(frozen=True)
class Metric:
    """One number over time."""

    name: str
    count: int
    first: str
    last: str
    least: str
    greatest: str
    curve: Curve | None
    """None for a single value."""


@dataclass(frozen=True)
class MetricGroup:
    """Metrics of one kind."""

    title: str
    metrics: tuple[Metric, ...]


def metric_groups(folder: Path) -> list[MetricGroup]:
    """All metrics of a run by kind; none without a file."""
    groups: dict[str, list[Metric]] = {kind: [] for kind in TITLES}
    for one in metric_views(folder):
        kind = one.name.partition("/")[0]
        groups[kind if kind in groups else ""].append(one)
    return [MetricGroup(TITLES[kind], tuple(found)) for kind, found in groups.items() if found]


def metric_views(folder: Path) -> list[Metric]:
    """All metrics of a run, by name; none without a file."""
    values: dict[str, list[float]] = {}
    for line in _lines(folder / "metrics.jsonl"):
        for name, value in _numbers(line):
            values.setdefault(name, []).append(value)
    return [_metric(name, values[name]) for name in sorted(values)[:MOST_METRICS]]


def _lines(file: Path) -> Iterator[Mapping[str, object]]:
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - MOST_BYTES))
            content = stream.read().splitlines()
    except OSError:
        return
    for line in content:
        try:
            parsed = json.loads(line)
        except ValueError:  # cut short: by a full disk, by a kill, or by the bound above
            continue
        if isinstance(parsed, dict):
            yield parsed


def _numbers(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield f"{prefix}{name}", float(value)


def _metric(name: str, values: list[float]) -> Metric:
    curve = sparkline(_thinned(values)) if len(values) > 1 else None
    first, last, least, greatest = map(number, (values[0], values[-1], min(values), max(values)))
    return Metric(name, len(values), first, last, least, greatest, curve)


def _thinned(values: list[float]) -> list[float]:
    """At most `MOST_POINTS` values, each the mean of its neighbours."""
    step = -(-len(values) // MOST_POINTS)
    return [_mean(values[start : start + step]) for start in range(0, len(values), step)]


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
