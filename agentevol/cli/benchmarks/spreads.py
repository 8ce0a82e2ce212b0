"""Cells of tables over seeds: a mean with half of Student's 95 % interval, and differences."""

from collections.abc import Sequence
from statistics import fmean

from agentevol.loop.report.intervals import mean_interval


def spread(values: Sequence[float | None], places: int, sign: str = "") -> str:
    """A mean, with half of its interval where there are several values; a dash where one is not defined."""
    numbers = [value for value in values if value is not None]
    if not numbers or len(numbers) < len(values):
        return "–"
    middle = f"{fmean(numbers):{sign}.{places}f}"
    if len(numbers) < 2:
        return middle
    return f"{middle} ± {mean_interval(numbers)[1] - fmean(numbers):.{places}f}"


def less(one: float | None, other: float | None) -> float | None:
    """One value less another; None where one is not defined."""
    return None if one is None or other is None else one - other
