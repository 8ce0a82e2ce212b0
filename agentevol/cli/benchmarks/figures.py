"""Figures of repeated measurements: median and range, as one slow run would distort a mean."""

import json as json_module
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A quantity measured several times."""

    what: str
    unit: str
    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the runs."""
        return median(self.runs)

    def as_json(self) -> dict[str, object]:
        """All runs, with their median and range."""
        return {**asdict(self), "median": self.median, "low": min(self.runs), "high": max(self.runs)}

    def __str__(self) -> str:
        spread = f"{short(min(self.runs))} to {short(max(self.runs))} in {len(self.runs)} runs"
        return f"{self.what}: {short(self.median)} {self.unit} ({spread})"


def ratio(what: str, above: Sequence[float], below: Sequence[float]) -> Figure:
    """Ratio `above / below` run by run: pairs measured side by side share the noise of the machine."""
    pairs = zip(above, below, strict=True)
    return Figure(what, "times", tuple(first / second for first, second in pairs))


def report(name: str, compare: Callable[[], Mapping[str, Any]], *, json: bool) -> None:
    """Run a comparison that prints its progress; with `json`, only its figures are on stdout."""
    if not json:
        compare()
        return
    with redirect_stdout(sys.stderr):
        figures = compare()
    print(json_module.dumps({"benchmark": name, **figures}, indent=2))


def short(number: float) -> str:
    """Three significant digits, with separators from a thousand on."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"
