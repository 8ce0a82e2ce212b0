"""Cohen's kappa: agreement of two raters on categories, beyond that of chance.

cohens_kappa([[20, 5], [10, 15]])  ->  0.4, which is (0.7 - 0.5) / (1 - 0.5)
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

from agentgym_envs.core import Record

_Z = NormalDist().inv_cdf(0.975)


class Kappa(Record):
    """Cohen's kappa with its 95 % interval."""

    n: int
    agreed: float | None
    """Share of items on which both agree; None without items."""
    kappa: float | None
    """1 is agreement, 0 that of chance; None where chance alone agrees always, or without items."""
    low: float | None = None
    """None where the interval has no width, since all items are in agreement."""
    high: float | None = None


def cohens_kappa(counts: Sequence[Sequence[int]]) -> Kappa:
    """Kappa of a square table: items by the category of the first rater (rows) and of the second (Cohen 1960,
    Educational and Psychological Measurement 20:37-46), with the large-sample standard error of Fleiss, Cohen
    and Everitt (1969, Psychological Bulletin 72:323-327). The interval is within [-1, 1].
    """
    n, size = sum(map(sum, counts)), range(len(counts))
    if not n:
        return Kappa(n=0, agreed=None, kappa=None)
    p = [[count / n for count in row] for row in counts]
    rows, columns = [sum(row) for row in p], [sum(row[j] for row in p) for j in size]
    agreed = sum(p[i][i] for i in size)
    chance = sum(rows[i] * columns[i] for i in size)
    if chance == 1:
        return Kappa(n=n, agreed=agreed, kappa=None)
    kappa = (agreed - chance) / (1 - chance)
    same = sum(p[i][i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in size)
    apart = sum(p[i][j] * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j)
    variance = same + (1 - kappa) ** 2 * apart - (kappa - chance * (1 - kappa)) ** 2
    half = _Z * math.sqrt(max(0.0, variance) / n) / (1 - chance)
    if half < 1e-9:
        return Kappa(n=n, agreed=agreed, kappa=kappa)
    return Kappa(n=n, agreed=agreed, kappa=kappa, low=max(-1.0, kappa - half), high=min(1.0, kappa + half))
