"""TensorBoard event files of an iteration's metrics."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentevol.core.summaries import IterationSummary, ThinkingSummary
from agentgym_store.files import whole_file

FILE_VERSION = "brain.Event:2"
"""Format version for readers; the first event of every file."""


def write_curves(folder: Path, summary: IterationSummary) -> None:
    """Write an iteration's event file into `folder` atomically, replacing an earlier one of this iteration.

    This does not use the `SummaryWriter` of torch or of TensorBoard: theirs imports torch, and writes in a
    separate thread, which a full disk would end with a traceback. Raises `StoreError`.
    """
    from tensorboard.summary.writer.record_writer import RecordWriter

    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / f"events.out.tfevents.{summary.iteration:010d}") as file:
        writer = RecordWriter(file)
        for event in _events(summary):
            writer.write(event.SerializeToString())


def _events(summary: IterationSummary) -> Iterator[Any]:
    # protobuf makes these classes as their modules load
    from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]
    from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]

    now = time.time()
    yield Event(wall_time=now, file_version=FILE_VERSION)
    for name, value in scalars(summary):
        point = Summary(value=[Summary.Value(tag=name, simple_value=value)])
        yield Event(wall_time=now, step=summary.iteration, summary=point)


def scalars(summary: IterationSummary) -> Iterator[tuple[str, float]]:
    """Names and values: success, turns and thinking of both evaluations, metrics of the selection, of the
    data and of the learner, seconds of every phase, faults.
    """
    for evaluation in (summary.evaluation, summary.validation):
        if evaluation is not None and evaluation.n:
            yield f"success/{evaluation.split}", evaluation.successes / evaluation.n
            yield f"turns/{evaluation.split}", evaluation.mean_turns
            if evaluation.gained is not None and evaluation.lost is not None:
                yield f"gained/{evaluation.split}", float(evaluation.gained)
                yield f"lost/{evaluation.split}", float(evaluation.lost)
            if evaluation.thinking is not None:
                yield from _thinking(evaluation.split, evaluation.thinking)
    yield from ((f"selection/{name}", value) for name, value in summary.selection.items())
    for environment, figures in summary.data.items():
        yield from ((f"data/{environment}/{name}", value) for name, value in figures.items())
    yield from ((f"learn/{name}", value) for name, value in summary.learn.items())
    yield from ((f"seconds/{name}", value) for name, value in summary.seconds.items())
    yield from ((f"faults/{name}", value) for name, value in summary.faults.figures().items())


def _thinking(split: str, thinking: ThinkingSummary) -> Iterator[tuple[str, float]]:
    """Shares of thinking modes, of malformed replies, and tokens of a turn."""
    for mode in thinking.by_mode:
        yield f"thinking/{split}/mode_{mode}", thinking.share(mode)
    yield f"thinking/{split}/malformed", thinking.malformed
    if thinking.all.tokens is not None:
        yield f"thinking/{split}/tokens", thinking.all.tokens
