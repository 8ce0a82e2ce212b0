"""TensorBoard event files of an iteration's metrics."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentevol.core.summaries import IterationSummary
from agentevol.loop.tracking.scalars import scalars
from agentevol.loop.tracking.sinks import TrackedRun
from agentgym_store.files import whole_file

FILE_VERSION = "brain.Event:2"
"""Format version for readers; the first event of every file."""


class TensorBoard:
    """Sink that writes event files into `tensorboard/` of the run's folder, one for each iteration."""

    def __init__(self, run: TrackedRun) -> None:
        self._folder = run.folder / "tensorboard"

    def log(self, summary: IterationSummary) -> None:
        """Write the event file of an iteration. Raises `StoreError`."""
        write_curves(self._folder, summary)

    def close(self) -> None:
        """Do nothing: every file is complete."""


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
