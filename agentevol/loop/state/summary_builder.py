"""Draft summaries of iterations that have not finished."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from agentevol.core.summaries import IterationSummary


class SummaryBuilder:
    """Draft summaries by iteration, until they are taken."""

    def __init__(self) -> None:
        self._known: dict[int, IterationSummary] = {}

    def of(self, iteration: int) -> IterationSummary:
        """The draft of an iteration."""
        return self._known.get(iteration) or IterationSummary(
            iteration=iteration, checkpoint="", table_version=0
        )

    def note(self, iteration: int, **values: object) -> None:
        """Set fields of the summary."""
        self._known[iteration] = self.of(iteration).model_copy(update=values)

    def learnt(self, iteration: int, figures: Mapping[str, float | None]) -> None:
        """Set the learner's figures, without those that are not numbers."""
        known = {name: value for name, value in figures.items() if value is not None and math.isfinite(value)}
        self.note(iteration, learn=known, trained_tokens=int(known.get("tokens_trained", 0)))

    @contextmanager
    def timed(self, iteration: int, phase: str) -> Iterator[None]:
        """Add the duration of the block to the seconds of a phase."""
        began = time.perf_counter()
        yield
        seconds = self.of(iteration).seconds
        spent = seconds.get(phase, 0.0) + time.perf_counter() - began
        self.note(iteration, seconds={**seconds, phase: spent})

    def take(self, iteration: int) -> IterationSummary:
        """Return the complete summary and remove the draft."""
        return self._known.pop(iteration)
