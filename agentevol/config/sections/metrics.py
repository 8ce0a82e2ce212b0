"""Metric sinks of a run by name (`agentevol.loop.tracking`). They are imported only where a run records."""

from agentevol.core.extensions import Extensions

SINKS = Extensions(
    "metric sink",
    "agentevol.metrics",
    {
        "jsonl": "agentevol.loop.tracking.jsonl:JsonLines",
        "tensorboard": "agentevol.loop.tracking.tensorboard:TensorBoard",
        "wandb": "agentevol.loop.tracking.wandb_sink:WeightsAndBiases",
        "mlflow": "agentevol.loop.tracking.mlflow_sink:MLflow",
        "trackio": "agentevol.loop.tracking.trackio_sink:Trackio",
    },
)
"""A sink is a class or function of an `agentevol.loop.tracking.sinks.TrackedRun` that returns a
`MetricSink`.
"""
DEFAULT = ("jsonl", "tensorboard")
