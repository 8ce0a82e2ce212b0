"""DAPO's dynamic sampling (arXiv:2503.14476, eq. 11): groups of equal returns carry no signal and are
dropped.

Returns [1, 0, 1, 1] of groups [a, a, b, b] give [True, True, False, False].

The sampler keeps informative groups, samples other tasks in place of the rest, and stops after some rounds.
That changes the distribution of tasks, so the success rate to report is the one before this filter.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agentevol.learn.algorithms.advantages import grouped


def informative_groups(returns: Sequence[float], groups: Sequence[str]) -> NDArray[np.bool_]:
    """(J,) True where the returns of the episode's group differ; False for a group of one."""
    if not len(returns):
        return np.zeros(0, dtype=np.bool_)
    found = grouped(np.asarray(returns, dtype=np.float64), groups)
    return ~found.equal[found.number]
