"""Guard against the collapse of a policy that learns from its own episodes (`guards.collapse`).

A function of the summaries so far, so that a resumed run has the same guard.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agentevol.core.summaries import IterationSummary
from agentevol.data.selection.variety import DISTINCT, ENTROPY, LENGTH

WATCHED: Mapping[str, str] = {
    DISTINCT: "distinct episodes of a task",
    ENTROPY: "entropy of an action",
    LENGTH: "tokens of an episode",
}
"""Watched figures of the selection, in words."""
SHARE = 0.5
"""Share of iteration 1's figure below which a figure has collapsed."""
IN_A_ROW = 2


def collapsed(evaluated: Iterable[IterationSummary]) -> Iterator[str]:
    """A line for each figure that has been below half of iteration 1's, in this iteration and in the one
    before, and was not so earlier: each fall is told once.
    """
    rounds = [one.selection for one in evaluated if one.iteration > 0]
    for name, words in WATCHED.items():
        values = [figures.get(name, math.nan) for figures in rounds]
        if _has_collapsed(values) and not _has_collapsed(values[:-1]):
            yield f"{words} {values[-1]:.3g}, below half of iteration 1's {values[0]:.3g} twice in a row"


def _has_collapsed(values: Sequence[float]) -> bool:
    """True where the last two values are below half of the first; values that are not there are not."""
    if len(values) <= IN_A_ROW:
        return False
    return all(value < SHARE * values[0] for value in values[-IN_A_ROW:])
