"""What is known of an iteration that has not finished: its summary, as it grows."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from agentevol.report.summary import IterationSummary


class Drafts:
    """Summaries by iteration, until they are taken."""

    def __init__(self) -> None:
        self._known: dict[int, IterationSummary] = {}

    def of(self, iteration: int) -> IterationSummary:
        """What is noted so far."""
        return self._known.get(iteration) or IterationSummary(
            iteration=iteration, checkpoint="", table_version=0
        )

    def note(self, iteration: int, **values: object) -> None:
        """Set fields of the summary."""
        self._known[iteration] = self.of(iteration).model_copy(update=values)

    def learnt(self, iteration: int, figures: Mapping[str, float | None]) -> None:
        """Set what the learner reported, without what is not a number."""
        known = {name: value for name, value in figures.items() if value is not None and math.isfinite(value)}
        self.note(iteration, learn=known, trained_tokens=int(known.get("tokens_trained", 0)))

    @contextmanager
    def timed(self, iteration: int, phase: str) -> Iterator[None]:
        """Add the seconds that this takes to those of a phase."""
        began = time.perf_counter()
        yield
        seconds = self.of(iteration).seconds
        spent = seconds.get(phase, 0.0) + time.perf_counter() - began
        self.note(iteration, seconds={**seconds, phase: spent})

    def take(self, iteration: int) -> IterationSummary:
        """The whole summary, which is no draft any more."""
        return self._known.pop(iteration)
