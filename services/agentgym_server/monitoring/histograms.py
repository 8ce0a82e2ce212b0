"""Histograms of durations."""

from bisect import bisect_left

BOUNDS_S = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0),
)
"""Upper bounds of the histograms' buckets, seconds."""


class Histogram:
    """Histogram of durations."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += 1
        self.total_s += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Cumulative counts by upper bound, in Prometheus' form."""
        rows: list[tuple[str, float]] = []
        seen = 0
        for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), self.counts, strict=True):
            seen += count
            rows.append((bound, float(seen)))
        return rows


class Histograms(dict[str, Histogram]):
    """Histograms by the value of their single label."""

    def __missing__(self, label: str) -> Histogram:
        histogram = self[label] = Histogram()
        return histogram
