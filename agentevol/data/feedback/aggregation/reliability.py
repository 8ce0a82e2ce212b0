"""Reliability of sources that give scores: each has an offset and a noise, both learnt from the scores.

x_ij = theta_i + b_j + e,   e ~ N(0, sigma_j^2)

Three people rate many episodes, the second always 0.2 higher, the third at random: the offset of the second
becomes 0.13 above the mean of all, the third has a large sigma, and theta hardly depends on it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentevol.data.feedback.aggregation.components import components
from agentevol.data.feedback.aggregation.ratings import Floats, Ratings

PRIOR = 4.0
"""Residuals of the pooled variance that each source begins with [house value]."""
UNKNOWN_SIGMA = 0.25
"""Noise of a source where no item has two sources [house value]."""
LEAST_VARIANCE = 1e-6
MOST_ROUNDS, ENOUGH = 200, 1e-7
LEAST_ITEMS = 8
"""Fewest items on which a source is held against others [house value]."""
SURE = 1.645
"""One-sided 95 % quantile: a correlation is below 0 where Fisher's z says so with this confidence."""


@dataclass(frozen=True)
class Reliability:
    """Scores of items, and what was learnt of the sources."""

    score_I: Floats
    """theta; NaN where only sources of weight 0 rated the item."""
    offset_J: Floats
    sigma_J: Floats
    below_chance_J: NDArray[np.bool_]
    """Sources whose scores fall where the others', or the outcomes, rise: they have no weight."""

    @property
    def weight(self) -> Floats:
        """(J,) weight of each source: 1 / sigma^2, or 0."""
        return np.where(self.below_chance_J, 0.0, self.sigma_J**-2.0)


def reliability(found: Ratings, outcome_I: Floats | None = None) -> Reliability:
    """Learn offsets and noises of the sources.

    `outcome_I` are outcomes in [0, 1], NaN where unknown: they fix the common offset, so that theta has
    their mean; without them the offsets sum to 0. A source below chance is left out, the worst first, and
    the others are learnt again.
    """
    known_I = np.full(len(found.items), np.nan) if outcome_I is None else outcome_I
    left_out_J = np.zeros(len(found.sources), dtype=np.bool_)
    while True:
        kept = found.without(left_out_J)
        offset_J, variance_J = _centred(kept, *_alternated(kept), known_I)
        z_J = against(kept, offset_J, variance_J, known_I)
        if not (z_J < -SURE).any() or left_out_J.sum() + 1 == len(left_out_J):
            break
        left_out_J[np.argmin(z_J)] = True
    score_I, _ = _theta(kept, offset_J, variance_J)
    apart = found.value_N - score_I[found.item_N]
    own_J = _about(found, apart)  # of sources that are left out, for the report
    offset_J, sigma_J = (
        np.where(left_out_J, one, other)
        for one, other in zip(own_J, (offset_J, np.sqrt(variance_J)), strict=True)
    )
    return Reliability(score_I, offset_J, sigma_J, left_out_J)


def _theta(found: Ratings, offset_J: Floats, variance_J: Floats) -> tuple[Floats, Floats]:
    """(I,) scores and their total precision; NaN without a rating."""
    precision_N = 1 / variance_J[found.source_N]
    total_I = found.by_item(precision_N)
    sum_I = found.by_item(precision_N * (found.value_N - offset_J[found.source_N]))
    return np.where(total_I > 0, sum_I / np.where(total_I > 0, total_I, 1.0), np.nan), total_I


def _alternated(found: Ratings) -> tuple[Floats, Floats]:
    """Offsets and variances, by turns with theta, from items that several sources rated: the residual of a
    lone score is 0 whatever its source.

    Of a score that determines the share p_ij of theta_i, the expected squared residual is sigma^2 (1 - p_ij).
    n_j is therefore the sum of 1 - p_ij over the scores of a source: with their plain number the alternation
    would trust one of two or three equal sources alone.
    """
    shared = found.shared
    own = Ratings(
        found.items, found.sources, found.item_N[shared], found.source_N[shared], found.value_N[shared]
    )
    count_J = np.maximum(own.by_source(), 1)
    offset_J, variance_J = np.zeros(len(own.sources)), np.ones(len(own.sources))
    if not shared.any():
        return offset_J, np.full(len(own.sources), UNKNOWN_SIGMA**2)
    for _ in range(MOST_ROUNDS):
        theta_I, total_I = _theta(own, offset_J, variance_J)
        apart_N = own.value_N - theta_I[own.item_N]
        found_J = own.by_source(apart_N) / count_J
        residual_N = apart_N - found_J[own.source_N]
        share_N = 1 / variance_J[own.source_N] / total_I[own.item_N]
        squares_J, free_J = own.by_source(residual_N**2), own.by_source(1 - share_N)
        pooled = squares_J.sum() / free_J.sum()
        new_J = np.maximum((squares_J + PRIOR * pooled) / (free_J + PRIOR), LEAST_VARIANCE)
        moved = max(np.abs(found_J - offset_J).max(), np.abs(np.sqrt(new_J) - np.sqrt(variance_J)).max())
        offset_J, variance_J = found_J, new_J
        if moved < ENOUGH:
            break
    return offset_J, variance_J


def _centred(found: Ratings, offset_J: Floats, variance_J: Floats, known_I: Floats) -> tuple[Floats, Floats]:
    """Offsets with their common part fixed, in each set of sources that items connect."""
    theta_I, _ = _theta(found, offset_J, variance_J)
    apart_N = (theta_I - known_I)[found.item_N]
    component_J = components(found)
    has_outcome = np.isfinite(apart_N)
    count_C = np.bincount(component_J[found.source_N[has_outcome]], minlength=len(component_J))
    sum_C = np.bincount(
        component_J[found.source_N[has_outcome]], apart_N[has_outcome], minlength=len(component_J)
    )
    rated_J = found.by_source() > 0
    members_C = np.bincount(component_J[rated_J], minlength=len(component_J))
    offsets_C = np.bincount(component_J[rated_J], offset_J[rated_J], minlength=len(component_J))
    shift_C = np.where(count_C > 0, sum_C / np.maximum(count_C, 1), -offsets_C / np.maximum(members_C, 1))
    return offset_J + shift_C[component_J], variance_J


def against(found: Ratings, offset_J: Floats, variance_J: Floats, known_I: Floats) -> Floats:
    """(J,) Fisher's z of the correlation of a source's scores with the outcomes, or where those of fewer than
    `LEAST_ITEMS` items are known, with what at least two other sources say; NaN where neither can be told.
    """
    outcome_N = known_I[found.item_N]
    theta_I, total_I = _theta(found, offset_J, variance_J)
    precision_N = 1 / variance_J[found.source_N]
    others_N = total_I[found.item_N] - precision_N
    sum_N = theta_I[found.item_N] * total_I[found.item_N]
    sum_N = sum_N - precision_N * (found.value_N - offset_J[found.source_N])
    enough = found.by_item()[found.item_N] > 2
    said_N = np.where(enough, sum_N / np.where(enough, others_N, 1.0), np.nan)
    by_outcome_J, by_others_J = _fisher(found, outcome_N), _fisher(found, said_N)
    return np.where(np.isnan(by_outcome_J), by_others_J, by_outcome_J)


def _fisher(found: Ratings, reference_N: Floats) -> Floats:
    """(J,) atanh(r) sqrt(n - 3) of scores and references; NaN for few, or where one does not vary."""
    known = np.isfinite(reference_N)
    own = Ratings(
        found.items, found.sources, found.item_N[known], found.source_N[known], found.value_N[known]
    )
    x_N, y_N, count_J = own.value_N, reference_N[known], own.by_source()
    safe_J = np.maximum(count_J, 1)
    x_N = x_N - (own.by_source(x_N) / safe_J)[own.source_N]
    y_N = y_N - (own.by_source(y_N) / safe_J)[own.source_N]
    spread_J = np.sqrt(own.by_source(x_N**2) * own.by_source(y_N**2))
    judged_J = (count_J >= LEAST_ITEMS) & (spread_J > 1e-12)
    r_J = own.by_source(x_N * y_N) / np.where(judged_J, spread_J, 1.0)
    z_J = np.arctanh(np.clip(r_J, -1 + 1e-12, 1 - 1e-12)) * np.sqrt(np.maximum(count_J - 3, 1))
    return np.where(judged_J, z_J, np.nan)


def _about(found: Ratings, apart_N: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each source's differences, without those that are not known."""
    known = np.isfinite(apart_N)
    source_N, apart = found.source_N[known], apart_N[known]
    size = len(found.sources)
    count_J = np.maximum(np.bincount(source_N, minlength=size), 1)
    mean_J = np.bincount(source_N, apart, size) / count_J
    squares_J = np.bincount(source_N, (apart - mean_J[source_N]) ** 2, size) / count_J
    return mean_J, np.maximum(np.sqrt(squares_J), LEAST_VARIANCE**0.5)
