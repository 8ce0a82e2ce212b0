"""Filtered behaviour cloning, also called rejection-sampling fine-tuning: imitation of the episodes whose
return reaches a threshold (STaR, arXiv:2203.14465; RAFT, arXiv:2304.06767; ReST-EM, arXiv:2312.06585).
"""

from collections.abc import Sequence

from agentevol.core.algorithms.contract import Algorithm, Floats
from agentevol.core.algorithms.options import Finite
from agentevol.learn.algorithms.episode_weights import binary, members
from agentevol.learn.algorithms.imitation.sft import sft


def weigh(
    returns: Sequence[float], groups: Sequence[str], *, threshold: Finite = 0.999, balance: bool = False
) -> Floats:
    """Episode weights: 1 where the return reaches `threshold`, else 0. A threshold below success clones
    failures.

    `balance` gives each group that has a success the same total weight, 1, so that easy tasks, of which more
    episodes are kept, do not dominate.
    """
    weights = binary(returns, threshold=threshold)
    if balance:
        for rows in members(groups):
            weights[rows] /= max(weights[rows].sum(), 1.0)
    return weights


ALGORITHM = Algorithm(loss=sft, data="episodes", weigh=weigh)
