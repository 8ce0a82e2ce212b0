"""Labels of pairs for `bradley_terry`, in `Batch.label`.

objective          goal   safety   cost
chosen              0.8      1.0   NaN
rejected            0.3      1.0   0.2
labels             0.8 and 0.3, then NaN and NaN twice: a tie, and a missing score
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def compared(chosen_D: Floats, rejected_D: Floats) -> tuple[Floats, Floats]:
    """Scores of both sides by objective, NaN in both where they are equal or one is missing."""
    unclear = ~((chosen_D < rejected_D) | (chosen_D > rejected_D))
    return np.where(unclear, np.nan, chosen_D), np.where(unclear, np.nan, rejected_D)


def by_head(labels_D: Floats, members: int) -> Floats:
    """(..., H) labels of D objectives for D * `members` heads, those of one objective adjacent."""
    return np.repeat(labels_D, members, axis=-1)
