"""Trackio, on this machine unless `TRACKIO_SPACE_ID` or `TRACKIO_SERVER_URL` says otherwise; the project is
`TRACKIO_PROJECT`.
"""

import os

from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking.scalars import scalars
from agentevol.loop.tracking.sinks import TrackedRun

PROJECT = "agentevol"


class Trackio:
    """Sink that logs to a run of Trackio, which a resumed run continues.

    Its name has the first characters of the run's id, since Trackio knows runs by their names.
    """

    def __init__(self, run: TrackedRun) -> None:
        import trackio  # pyright: ignore[reportMissingImports]

        self._run = trackio.init(
            project=os.environ.get("TRACKIO_PROJECT", PROJECT),
            name=f"{run.name}-{run.id[:8]}",
            config=dict(run.config),
            resume="allow",
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
        )

    def log(self, summary: IterationSummary) -> None:
        """Queue the metrics of an iteration; Trackio stores them within a second."""
        self._run.log(dict(scalars(summary)), step=summary.iteration)

    def close(self) -> None:
        """Store what is queued."""
        self._run.finish()
