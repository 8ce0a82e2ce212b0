"""Stopping rule against overoptimisation: the reward model's score rises while the true metric falls.

proxy  0.1  0.4  0.6  0.7  0.8
gold   0.2  0.3  0.4  0.3  0.2     stop at evaluation 4, the second fall in a row
"""

from collections.abc import Sequence
from itertools import pairwise

from agentevol.core.errors import ConfigError


def overoptimised(proxy: Sequence[float], gold: Sequence[float], *, patience: int = 2) -> int | None:
    """First evaluation by which the proxy rose and the gold metric fell `patience` times in a row; None if
    none.

    Both are means over the same held-out tasks, one of each per evaluation. The weights to keep are those of
    `patience` evaluations before.
    """
    if len(proxy) != len(gold):
        raise ConfigError(f"{len(proxy)} evaluations of the proxy but {len(gold)} of the gold metric")
    if patience < 1:
        raise ConfigError(f"a patience is at least 1, not {patience}")
    streak = 0
    steps = zip(pairwise(proxy), pairwise(gold), strict=True)
    for number, ((proxy_before, proxy_now), (gold_before, gold_now)) in enumerate(steps, start=1):
        streak = streak + 1 if proxy_now > proxy_before and gold_now < gold_before else 0
        if streak == patience:
            return number
    return None
