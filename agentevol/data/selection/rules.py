"""Selection rules by name: filters of explored episodes for training, before limits and removal of
duplicates.

A user's rule has the same signature. It is given as `select.rule = "module:attribute"`, or registered by an
entry point of the group `agentevol.selections`.
"""

from collections.abc import Callable, Sequence

from agentevol.config.sections.selection import SelectConfig
from agentevol.data.selection.filters import accepted, at_least, best, scored, top_ratio
from agentgym_store.records import Trajectory

Rule = Callable[[Sequence[Trajectory], SelectConfig, int], Sequence[Trajectory]]
"""Function from episodes in the order of their ids, the settings and a seed to the selected episodes. Pure:
equal inputs give equal selections. Episodes without a return are never trained on, whatever a rule returns.
"""


def succeeded(trajectories: Sequence[Trajectory], _: SelectConfig, __: int) -> list[Trajectory]:
    """Episodes with the maximum return."""
    return [t for t in scored(trajectories) if t.succeeded()]


def threshold(trajectories: Sequence[Trajectory], config: SelectConfig, _: int) -> list[Trajectory]:
    """Episodes with a return of `threshold` or more."""
    return at_least(trajectories, config.threshold, config.thresholds)


def top_k_ratio(trajectories: Sequence[Trajectory], config: SelectConfig, _: int) -> list[Trajectory]:
    """The share `ratio` with the highest returns."""
    return top_ratio(trajectories, config.ratio)


def best_of(trajectories: Sequence[Trajectory], config: SelectConfig, _: int) -> list[Trajectory]:
    """The `k` best episodes of every task."""
    return best(trajectories, config.k)


def rejection(trajectories: Sequence[Trajectory], config: SelectConfig, seed: int) -> list[Trajectory]:
    """Episodes accepted with probability return / `scale`."""
    return accepted(trajectories, config.scale, seed)


def everything(trajectories: Sequence[Trajectory], _: SelectConfig, __: int) -> list[Trajectory]:
    """All episodes that have a return."""
    return scored(trajectories)
