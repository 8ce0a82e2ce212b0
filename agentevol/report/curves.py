"""Figures of an iteration for TensorBoard."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from agentevol.report.summary import IterationSummary
from agentgym_store.files import whole_file


def write_curves(folder: Path, summary: IterationSummary) -> None:
    """Write an iteration's event file into `folder`, whole, in the place of an earlier one of this iteration.

    TensorBoard writes in a thread of its own, which a full disk would end with a traceback: it writes
    elsewhere, and the result is copied. Raises `StoreError`.
    """
    from torch.utils.tensorboard.writer import SummaryWriter

    with TemporaryDirectory(prefix="agentevol-") as place:
        with SummaryWriter(place) as writer:
            for name, value in scalars(summary):
                writer.add_scalar(name, value, summary.iteration)
        (made,) = Path(place).iterdir()
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / f"events.out.tfevents.{summary.iteration:010d}") as file:
            file.write(made.read_bytes())


def scalars(summary: IterationSummary) -> Iterator[tuple[str, float]]:
    """Names and values: success and turns of both evaluations, figures of the selection, of the data and of
    the learner, seconds of every phase, what broke.
    """
    for evaluation in (summary.evaluation, summary.validation):
        if evaluation is not None and evaluation.n:
            yield f"success/{evaluation.split}", evaluation.successes / evaluation.n
            yield f"turns/{evaluation.split}", evaluation.mean_turns
            if evaluation.gained is not None and evaluation.lost is not None:
                yield f"gained/{evaluation.split}", float(evaluation.gained)
                yield f"lost/{evaluation.split}", float(evaluation.lost)
    yield from ((f"selection/{name}", value) for name, value in summary.selection.items())
    for environment, figures in summary.data.items():
        yield from ((f"data/{environment}/{name}", value) for name, value in figures.items())
    yield from ((f"learn/{name}", value) for name, value in summary.learn.items())
    yield from ((f"seconds/{name}", value) for name, value in summary.seconds.items())
    yield from ((f"faults/{name}", value) for name, value in summary.faults.figures().items())
