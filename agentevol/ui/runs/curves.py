"""Curves as shapes of an SVG that a template draws: success per iteration with intervals, and metrics.

Coordinates are pixels of a fixed view box; colours and widths are in the style sheet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from agentevol.core.summaries import RunSummary
from agentevol.loop.report.intervals import wilson
from agentevol.loop.report.rates import SuccessRow, rate_text, success_rows

Scale = Callable[[float], float]

GROUPS = 6
"""Lines that have a colour of their own; further ones begin again."""


@dataclass(frozen=True)
class Point:
    """A value with its interval."""

    x: float
    y: float
    low: float
    high: float
    label: str


@dataclass(frozen=True)
class Line:
    """A line of points."""

    name: str
    style: int
    """0 for all episodes, then 1, 2, ... for the groups."""
    points: tuple[Point, ...]

    @property
    def path(self) -> str:
        """Points as the attribute of a `polyline`."""
        return " ".join(f"{point.x:.1f},{point.y:.1f}" for point in self.points)


@dataclass(frozen=True)
class Curve:
    """Lines in a box, with marks on its axes."""

    width: int
    height: int
    lines: tuple[Line, ...]
    rows: tuple[tuple[float, str], ...] = ()
    """Height and text of horizontal lines."""
    columns: tuple[tuple[float, str], ...] = ()
    left: int = 0
    bottom: int = 0
    """Space for the texts of the axes."""

    @property
    def right(self) -> int:
        """X coordinate of the end of the horizontal lines."""
        return self.width - 8

    @property
    def floor(self) -> int:
        """Height of the horizontal axis."""
        return self.height - self.bottom


def success_curve(summary: RunSummary, *, small: bool = False) -> Curve | None:
    """Success per iteration: of all episodes, and of each difficulty; `small` draws all episodes alone."""
    rows = [row for row in success_rows(summary) if row.n and not (small and row.group)]
    if not rows:
        return None
    curve = Curve(120, 32, ()) if small else Curve(520, 280, (), left=56, bottom=28)
    iterations = sorted({row.iteration for row in rows})
    x_of = _scale(iterations[0], iterations[-1], curve.left + 8, curve.right - 8)
    y_of = _scale(0.0, 1.0, curve.floor - 2, 8)
    by_group = groupby(sorted(rows, key=lambda row: (row.group, row.iteration)), lambda row: row.group)
    lines = [
        Line(
            name or "all", place and 1 + (place - 1) % GROUPS, tuple(_point(row, x_of, y_of) for row in found)
        )
        for place, (name, found) in enumerate(by_group)
    ]
    if small:
        return Curve(curve.width, curve.height, tuple(lines))
    return Curve(
        curve.width,
        curve.height,
        tuple(lines),
        rows=tuple((y_of(share), f"{100 * share:.0f} %") for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
        columns=tuple((x_of(number), f"{number}") for number in _thinned(iterations, 16)),
        left=curve.left,
        bottom=curve.bottom,
    )


def sparkline(values: Sequence[float], width: int = 160, height: int = 32) -> Curve:
    """A line through values in equal distances, from the least to the greatest."""
    x_of = _scale(0, max(1, len(values) - 1), 3, width - 3)
    y_of = _scale(min(values), max(values), height - 3, 3)
    points = tuple(
        Point(x_of(place), y_of(value), y_of(value), y_of(value), f"{value:g}")
        for place, value in enumerate(values)
    )
    return Curve(width, height, (Line("", 0, points),))


def _scale(low: float, high: float, start: float, end: float) -> Scale:
    """Linear map of [low, high] to [start, end]; the middle where the bounds are equal."""

    def scaled(value: float) -> float:
        share = (value - low) / (high - low) if high != low else 0.5
        return start + share * (end - start)

    return scaled


def _point(row: SuccessRow, x_of: Scale, y_of: Scale) -> Point:
    low, high = wilson(row.successes, row.n)
    group = f", {row.group}" if row.group else ""
    label = (
        f"iteration {row.iteration}{group}: {rate_text(row.successes, row.n)}"
        f" (95 % interval {100 * low:.1f} to {100 * high:.1f} %, n = {row.n})"
    )
    return Point(x_of(row.iteration), y_of(row.successes / row.n), y_of(low), y_of(high), label)


def _thinned(numbers: Sequence[int], most: int) -> Sequence[int]:
    step = -(-len(numbers) // most)
    return numbers[::step]
