"""Comparisons by several sources: Crowd-BT (Chen et al., 2013, "Pairwise ranking aggregation in a
crowdsourced setting").

P(source j prefers A to B) = a_j sigmoid(s_A - s_B) + (1 - a_j) sigmoid(s_B - s_A)

s is the strength of an episode, a_j the share of comparisons that source j gets right. Both are learnt, by
expectation maximisation: whether a comparison was right is the hidden variable.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentevol.data.feedback.aggregation.ratings import Floats, Ints

VIRTUAL = 0.5
"""Weight of a tie of each episode with a virtual one of strength 0, which bounds the strengths (section 4 of
the paper, lambda)."""
RIGHT, WRONG = 4.0, 1.0
"""Right and wrong comparisons that each source begins with [house value]."""
MOST_ROUNDS, STEPS, ENOUGH = 60, 4, 1e-3
LEAST = 1e-9
"""Against a division by zero for an episode without comparisons."""
MOST_LEVERAGE = 0.2
"""Least of 1 - leverage, which bounds the step for episodes with a single comparison."""
CHANCE, SURE = 0.5, 1.645
"""A source is below chance where the one-sided 95 % bound of its accuracy is below `CHANCE`."""


@dataclass(frozen=True)
class Votes:
    """N comparisons of I episodes by J sources."""

    items: int
    sources: int
    first_N: Ints
    second_N: Ints
    source_N: Ints
    share_N: Floats
    """Probability that the first episode is the better one, as the source tells it: 1 or 0 without one."""

    def without(self, left_out_J: NDArray[np.bool_]) -> "Votes":
        """The comparisons of the other sources."""
        kept = ~left_out_J[self.source_N]
        first_N, second_N, source_N = (one[kept] for one in (self.first_N, self.second_N, self.source_N))
        return Votes(self.items, self.sources, first_N, second_N, source_N, self.share_N[kept])


@dataclass(frozen=True)
class Strengths:
    """Strengths of episodes, and what was learnt of the sources."""

    strength_I: Floats
    accuracy_J: Floats
    """a_j."""
    below_chance_J: NDArray[np.bool_]
    """Sources that are wrong more often than right: they have no weight."""

    def probability(self, first: Ints, second: Ints) -> Floats:
        """Probability that each first episode is better than its second one."""
        return sigmoid(self.strength_I[first] - self.strength_I[second])


def crowd_bt(found: Votes, *, virtual: float = VIRTUAL) -> Strengths:
    """Strengths and accuracies. The worst source below chance is left out until none is, as long as three or
    more remain: of two that contradict each other, nobody can say which one is wrong.
    """
    left_out_J = np.zeros(found.sources, dtype=np.bool_)
    accuracy_J = np.full(found.sources, RIGHT / (RIGHT + WRONG))
    while True:
        strength_I, new_J = _fitted(found.without(left_out_J), virtual)
        accuracy_J = np.where(left_out_J, accuracy_J, new_J)  # of those left out as they were then
        count_J = np.maximum(np.bincount(found.source_N, minlength=found.sources), 1)
        excess_J = (accuracy_J - CHANCE) * np.sqrt(count_J) / CHANCE
        open_J = np.where(left_out_J, np.inf, excess_J)
        if (~left_out_J).sum() < 3 or open_J.min() >= -SURE:
            return Strengths(strength_I, accuracy_J, left_out_J)
        left_out_J = left_out_J.copy()
        left_out_J[np.argmin(open_J)] = True


def _fitted(found: Votes, virtual: float) -> tuple[Floats, Floats]:
    strength_I, accuracy_J = np.zeros(found.items), np.full(found.sources, RIGHT / (RIGHT + WRONG))
    for _ in range(MOST_ROUNDS):
        new_I = strength_I
        for _ in range(STEPS):
            new_I = new_I + _move(found, new_I, accuracy_J, virtual)
        new_J = _accuracies(found, new_I, accuracy_J, virtual)
        moved = np.abs(new_I - strength_I).max(initial=0.0), np.abs(new_J - accuracy_J).max(initial=0.0)
        strength_I, accuracy_J = new_I, new_J
        if max(moved) < ENOUGH:
            break
    return strength_I, accuracy_J


def _move(found: Votes, strength_I: Floats, accuracy_J: Floats, virtual: float) -> Floats:
    """(I,) step of the strengths: a damped diagonal Newton step. The curvature of a graph is at most twice
    its diagonal.
    """
    better_N = sigmoid(strength_I[found.first_N] - strength_I[found.second_N])
    slope_N = responsibilities(found, better_N, accuracy_J)[0] - better_N
    tied_I, bent_I = _tied(strength_I, virtual)
    slope_I = np.bincount(found.first_N, slope_N, found.items)
    slope_I -= np.bincount(found.second_N, slope_N, found.items)
    curve_I = 2 * _ends(found, better_N * (1 - better_N)) + bent_I
    return np.clip((slope_I + tied_I) / np.maximum(curve_I, LEAST), -1, 1)


def _accuracies(found: Votes, strength_I: Floats, accuracy_J: Floats, virtual: float) -> Floats:
    gap_N = strength_I[found.first_N] - strength_I[found.second_N]
    better_N = sigmoid(gap_N)
    slope_N = responsibilities(found, better_N, accuracy_J)[0] - better_N
    alone_N = _without_own(found, gap_N, slope_N, better_N * (1 - better_N), _tied(strength_I, virtual)[1])
    right_N = responsibilities(found, sigmoid(alone_N), accuracy_J)[1]
    count_J = np.bincount(found.source_N, minlength=found.sources)
    return (np.bincount(found.source_N, right_N, found.sources) + RIGHT) / (count_J + RIGHT + WRONG)


def _tied(strength_I: Floats, virtual: float) -> tuple[Floats, Floats]:
    """Slope and curvature of the ties with the virtual episode."""
    share_I = sigmoid(strength_I)
    return virtual * (1 - 2 * share_I), 2 * virtual * share_I * (1 - share_I)


def _ends(found: Votes, weight_N: Floats) -> Floats:
    """(I,) sum of the weights of the comparisons of each episode."""
    first_I = np.bincount(found.first_N, weight_N, found.items)
    return (first_I + np.bincount(found.second_N, weight_N, found.items)).astype(np.float64)


def _without_own(found: Votes, gap_N: Floats, slope_N: Floats, curve_N: Floats, tied_I: Floats) -> Floats:
    """(N,) difference of strengths as it would be without the comparison itself, by one Newton step.

    With its own comparison counted, a source agrees with strengths that it made itself: where episodes have
    few comparisons, every source would seem to be right.
    """
    curve_I = np.maximum(_ends(found, curve_N) + tied_I, LEAST)
    reach_N = 1 / curve_I[found.first_N] + 1 / curve_I[found.second_N]
    return gap_N - slope_N * reach_N / np.maximum(1 - curve_N * reach_N, MOST_LEVERAGE)


def responsibilities(found: Votes, better_N: Floats, accuracy_J: Floats) -> tuple[Floats, Floats]:
    """(N,) probability that the first episode is the better one, and that the source was right, given what it
    said; `better_N` is the probability of the former before.
    """
    right_N = accuracy_J[found.source_N]
    for_first, for_second = right_N * better_N, right_N * (1 - better_N)
    told_first = for_first / (for_first + (1 - right_N) * (1 - better_N))
    told_second = for_second / (for_second + (1 - right_N) * better_N)
    share_N = found.share_N
    was_right_N = share_N * told_first + (1 - share_N) * told_second
    return share_N * told_first + (1 - share_N) * (1 - told_second), was_right_N


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * (1 + np.tanh(x / 2))
