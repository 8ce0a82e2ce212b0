"""Interface of metric sinks.

A sink of another distribution is named by an entry point of the group `agentevol.metrics`, or as
`module:attribute` in the setting `metrics`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentevol.core.summaries import IterationSummary


@dataclass(frozen=True)
class TrackedRun:
    """Run whose metrics are recorded."""

    name: str
    folder: Path
    id: str
    """Unique and constant over resumptions, so that a sink continues what it has."""
    config: Mapping[str, str]
    """Resolved settings by dotted name, values as JSON."""


class MetricSink(Protocol):
    """Receiver of a run's metrics. It is called in a thread of its own, and may raise: the run continues."""

    def log(self, summary: IterationSummary) -> None:
        """Record an iteration, and have it stored or sent before returning, if possible.

        One that raised is given again with the next iteration. After a kill an iteration may be given twice.
        """
        ...

    def close(self) -> None:
        """End the recording, and send what is left."""
        ...


class SinkFactory(Protocol):
    """A class or function that opens a sink."""

    def __call__(self, run: TrackedRun) -> MetricSink:
        """Open a sink of a run, for the first time or again."""
        ...
