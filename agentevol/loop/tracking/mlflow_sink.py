"""MLflow, at `MLFLOW_TRACKING_URI`, or else in `mlflow.db` of the run's folder; the experiment is
`MLFLOW_EXPERIMENT_NAME`.
"""

import os
import re
import time

from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking.scalars import scalars
from agentevol.loop.tracking.sinks import TrackedRun

EXPERIMENT = "agentevol"
OWN = "agentevol.run"
"""Tag by which a resumed run finds its run of MLflow."""
LONGEST = 6000
"""Maximum characters of a parameter's value."""


class MLflow:
    """Sink that logs to a run of MLflow, which a resumed run continues."""

    def __init__(self, run: TrackedRun) -> None:
        from mlflow import MlflowClient  # pyright: ignore[reportMissingImports]
        from mlflow.entities import Metric, Param  # pyright: ignore[reportMissingImports]

        place = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{run.folder / 'mlflow.db'}"
        self._metric, self._client = Metric, MlflowClient(tracking_uri=place)
        experiment = _experiment(self._client)
        found = self._client.search_runs([experiment], filter_string=f"tags.`{OWN}` = '{run.id}'")
        if found:
            self._id = found[0].info.run_id
            self._client.set_terminated(self._id, "RUNNING")
            return
        made = self._client.create_run(experiment, tags={OWN: run.id}, run_name=run.name)
        self._id = made.info.run_id
        params = [Param(_name(key), value[:LONGEST]) for key, value in run.config.items()]
        for start in range(0, len(params), 100):  # as many as a request may have
            self._client.log_batch(self._id, params=params[start : start + 100])

    def log(self, summary: IterationSummary) -> None:
        """Send the metrics of an iteration."""
        now = int(time.time() * 1000)
        points = [
            self._metric(_name(name), value, now, summary.iteration) for name, value in scalars(summary)
        ]
        for start in range(0, len(points), 1000):
            self._client.log_batch(self._id, metrics=points[start : start + 1000])

    def close(self) -> None:
        """Mark the run as finished."""
        self._client.set_terminated(self._id)


def _experiment(client: "object") -> str:
    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    found = client.get_experiment_by_name(name)  # pyright: ignore[reportAttributeAccessIssue]
    if found is not None:
        return str(found.experiment_id)
    return str(client.create_experiment(name))  # pyright: ignore[reportAttributeAccessIssue]


def _name(name: str) -> str:
    """A name with the characters that MLflow allows."""
    return re.sub(r"[^\w\-. /]", "_", name)
