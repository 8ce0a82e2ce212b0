"""Continual-learning matrix: success by environment and stage of a run, with gains and forgetting.

                   start            iteration 1      iteration 2      forgotten   since the start
    guess          20.0 % (2/10)    60.0 % (6/10)    50.0 % (5/10)    +10.0       +30.0
    easy           90.0 % (9/10)    90.0 % (9/10)    70.0 % (7/10)    +20.0       -20.0

A line is the run's own held-out split, in a mixed run that of each environment, the tasks of a
`protect.NAME`, or a task type of the held-out split where it has several: then a run in one environment also
shows gains and losses between task types.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from agentevol.core.summaries import IterationSummary, RunSummary
from agentevol.learn.continual.forgetting_metrics import backward_transfer, forgetting
from agentevol.loop.report.rates import rate_text

Counts = tuple[int, int]
"""Successes and episodes."""


@dataclass(frozen=True)
class Line:
    """One environment, or a part of one, over the evaluated stages."""

    name: str
    counts: Sequence[Counts | None]
    """Counts by stage; None where it was not played."""
    forgotten: float
    """Best earlier stage less the last (f_e): above 0 is forgetting. NaN where one is not known."""
    gained: float
    """The last stage less the first; NaN where one is not known."""


@dataclass(frozen=True)
class Matrix:
    """Success by line and stage."""

    stages: Sequence[str]
    lines: Sequence[Line]
    transfer: float
    """Mean gain of the lines since the start; negative is forgetting. NaN where one is not known."""


def stage_matrix(summary: RunSummary) -> Matrix:
    """Matrix of all evaluated iterations; where an update was rejected, of the checkpoint that stayed."""
    evaluated = [one for one in summary.iterations if one.evaluation is not None]
    stages = list(_stages(summary.environment, evaluated))
    names = list(dict.fromkeys(name for stage in stages for name in stage))
    counts_EG = [[stage.get(name) for stage in stages] for name in names]
    success_SE = np.array([[_rate(counts) for counts in of_stages] for of_stages in counts_EG]).T
    known = len(stages) > 1
    forgotten_E = forgetting(success_SE).tolist() if known else [nan] * len(names)
    gained_E = (success_SE[-1] - success_SE[0]).tolist() if known else [nan] * len(names)
    return Matrix(
        [f"iteration {one.iteration}" if one.iteration else "start" for one in evaluated],
        [Line(*each) for each in zip(names, counts_EG, forgotten_E, gained_E, strict=True)],
        backward_transfer(success_SE, [0] * len(names)) if known else nan,
    )


def matrix_table(summary: RunSummary) -> tuple[str, list[str], list[list[str]]]:
    """Note, header and rows; no row before the second stage."""
    matrix = stage_matrix(summary)
    header = ["environment", *matrix.stages, "forgotten", "since the start"]
    if len(matrix.stages) < 2:
        return "", header, []
    rows = [
        [line.name, *(_share(each) for each in line.counts), _points(line.forgotten), _points(line.gained)]
        for line in matrix.lines
    ]
    note = (
        "The run's held-out tasks, protected ones, and task types. Forgotten: the best earlier stage less the"
        " last, in points of success; below 0 nothing was. Backward transfer, the mean since the start:"
        f" {_points(matrix.transfer)}."
    )
    return note, header, rows


def _stages(environment: str, evaluated: Sequence[IterationSummary]) -> Iterator[dict[str, Counts]]:
    """Counts of each stage's checkpoint on all its tasks, by stage."""
    protected: dict[str, Counts] = {}
    for one in evaluated:
        if one.evaluation is None:
            continue
        if one.rejected is None:  # otherwise they are of the update, and the checkpoint is the one before
            protected = {f"protected: {name}": (e.successes, e.n) for name, e in one.protected.items()}
        kinds = one.evaluation.by.get("kind", {})
        own = one.evaluation.environments or {environment: one.evaluation}
        found = {**{name: (e.successes, e.n) for name, e in own.items()}, **protected}
        yield found | {f"task type: {kind}": counts for kind, counts in kinds.items() if len(kinds) > 1}


def _rate(counts: Counts | None) -> float:
    return counts[0] / counts[1] if counts is not None and counts[1] else nan


def _share(counts: Counts | None) -> str:
    if counts is None or not counts[1]:
        return "–"
    return f"{rate_text(*counts)} ({counts[0]}/{counts[1]})"


def _points(difference: float) -> str:
    return "–" if isnan(difference) else f"{100 * difference:+.1f}"
