"""Bradley-Terry strengths of policies or checkpoints that played the same tasks.

A won against B on 3 tasks and lost 1. With half a virtual win to either side, P(A beats B) = 3.5 / 5 = 0.7:

    strengths([[0, 3], [1, 0]])  -> [0.7, 0.3]
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agentevol.core.errors import ConfigError

Floats = NDArray[np.float64]

VIRTUAL_WINS = 0.5
"""Virtual wins of every policy against every other: without them, a policy with wins only would have an
infinite strength, and one without wins none.
"""

CHANGE = 1e-10
MOST_STEPS = 10_000


@dataclass(frozen=True)
class Strength:
    """One policy among those compared."""

    name: str
    log_strength: float
    """Natural logarithm; all strengths add up to 1."""
    interval: tuple[float, float]
    """95 % bootstrap over tasks, the same tasks for all policies."""


def ranked(
    scores: Mapping[str, Mapping[str, float]], seed: int, *, resamples: int = 1000, equal: float = 1e-9
) -> list[Strength]:
    """Policies in descending order of strength (ties by name), from each policy's score by task.

    Only tasks count that every policy played; scores closer than `equal` are a tie, half a win to each.
    Raises `ConfigError` for fewer than two policies or without a task that all played.
    """
    if len(scores) < 2:
        raise ConfigError(f"strengths compare two policies or more, not {len(scores)}")
    names = sorted(scores)
    tasks = sorted(set.intersection(*(set(by_task) for by_task in scores.values())))
    if not tasks:
        raise ConfigError("nothing to compare: no task was played by all policies")
    scores_NA = np.array([[scores[name][task] for name in names] for task in tasks], dtype=np.float64)
    wins_NAA = wins_by_task(scores_NA, equal)
    random = np.random.default_rng(seed)
    counts_RN = random.multinomial(len(tasks), np.full(len(tasks), 1 / len(tasks)), size=resamples)
    drawn_RAA = np.einsum("rn,nab->rab", counts_RN.astype(np.float64), wins_NAA)
    low_A, high_A = np.quantile(np.log(strengths(drawn_RAA)), [0.025, 0.975], axis=0)
    log_A = np.log(strengths(wins_NAA.sum(axis=0)))
    found = [
        Strength(name, float(log_A[a]), (float(low_A[a]), float(high_A[a]))) for a, name in enumerate(names)
    ]
    return sorted(found, key=lambda one: -one.log_strength)


def wins_by_task(scores_NA: ArrayLike, equal: float = 1e-9) -> Floats:
    """(N, A, A) of N tasks: 1 where policy a scored higher than b, 1/2 where they tied; 0 on the diagonal."""
    scores = np.asarray(scores_NA, dtype=np.float64)
    above_NAA = scores[:, :, None] - scores[:, None, :]
    wins_NAA = np.where(np.abs(above_NAA) <= equal, 0.5, (above_NAA > 0).astype(np.float64))
    return wins_NAA * (1 - np.eye(scores.shape[1]))


def strengths(wins_AA: ArrayLike) -> Floats:
    """(..., A) strengths that add up to 1, from (..., A, A) wins of the row over the column.

    The maximum of the likelihood with `VIRTUAL_WINS` added, by `improved` until nothing changes by 1e-10.
    """
    wins = with_virtual_wins(np.asarray(wins_AA, dtype=np.float64))
    strength = np.full(wins.shape[:-1], 1 / wins.shape[-1])
    for _ in range(MOST_STEPS):
        before, strength = strength, improved(strength, wins)
        if np.abs(strength - before).max(initial=0.0) < CHANGE:
            break
    return strength


def improved(strength_A: Floats, wins_AA: Floats) -> Floats:
    """One step of minorise-maximise (Hunter, 2004), which never lowers the likelihood:
    p_a <- sum_b W_ab / sum_b (W_ab + W_ba) / (p_a + p_b), then scaled to add up to 1.
    """
    games_AA = wins_AA + np.swapaxes(wins_AA, -1, -2)
    expected_AA = games_AA / (strength_A[..., :, None] + strength_A[..., None, :])
    better_A = wins_AA.sum(axis=-1) / expected_AA.sum(axis=-1)
    return better_A / better_A.sum(axis=-1, keepdims=True)


def win_probability(strength_A: Floats) -> Floats:
    """(A, A) probability that the row beats the column."""
    return strength_A[:, None] / (strength_A[:, None] + strength_A[None, :])


def with_virtual_wins(wins_AA: Floats) -> Floats:
    """The wins with `VIRTUAL_WINS` against every opponent; the diagonal stays 0."""
    others = 1 - np.eye(wins_AA.shape[-1])
    return (wins_AA + VIRTUAL_WINS) * others
