"""Figures of an iteration for TensorBoard."""

from collections.abc import Iterator
from pathlib import Path

from agentevol.report.summary import IterationSummary


def write_curves(folder: Path, summary: IterationSummary) -> None:
    """Add an iteration to the event files of `folder`."""
    from torch.utils.tensorboard.writer import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for name, value in scalars(summary):
            writer.add_scalar(name, value, summary.iteration)


def scalars(summary: IterationSummary) -> Iterator[tuple[str, float]]:
    """Names and values: success and turns of both evaluations, the learner's figures, seconds of every
    phase.
    """
    for evaluation in (summary.evaluation, summary.validation):
        if evaluation is not None and evaluation.n:
            yield f"success/{evaluation.split}", evaluation.successes / evaluation.n
            yield f"turns/{evaluation.split}", evaluation.mean_turns
    yield from ((f"learn/{name}", value) for name, value in summary.learn.items())
    yield from ((f"seconds/{name}", value) for name, value in summary.seconds.items())
