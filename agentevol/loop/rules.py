"""Selection rules by name: explored episodes that are learnt from, before limits and duplicates.

A rule of one's own has the same signature. It is given as `select.rule = "module:attribute"`, or registered
by an entry point of the group `agentevol.selections`.
"""

from collections.abc import Callable, Sequence

from agentevol.config.sections import SelectConfig
from agentevol.loop.select import accepted, at_least, best, scored, top_ratio
from agentgym_store.records import Trajectory

Rule = Callable[[Sequence[Trajectory], SelectConfig, int], Sequence[Trajectory]]
"""From episodes in the order of their ids, the settings and a seed to those that are kept. Pure: equal inputs
give equal selections. Episodes without a return are never learnt from, whatever a rule says.
"""


def succeeded(trajectories: Sequence[Trajectory], _: SelectConfig, __: int) -> list[Trajectory]:
    """Episodes that earned all that can be earned."""
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
