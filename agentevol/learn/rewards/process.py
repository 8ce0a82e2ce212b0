"""Per-turn rewards from differences of state values, whose sum is independent of an episode's length.

Values 0.5, 0.25 and 0.75 before the three turns of an episode that ends with outcome 1:

    turn                0      1      2
    value before it   0.50   0.25   0.75   (1 at the end)
    reward           -0.25  +0.50  +0.25   sum 0.5 = 1 - 0.5, however many turns there were

"R3" is a house name of the sum of task reward, step rewards and KL penalty; no published method is meant.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from agentevol.core.algorithms.contract import Steps
from agentevol.core.errors import ConfigError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def values_before(after_S: Floats, sequence_S: Integers, start_J: Floats) -> Floats:
    """(S,) value of the state before each turn, from the values after each turn and at the episodes' starts.

    The values of a process reward model are those after a turn; an episode's turns are adjacent and in order.
    """
    first = _first(sequence_S)
    before = np.roll(after_S, 1)
    before[first] = start_J[sequence_S[first]]
    return before


def value_differences(
    before_S: Floats, sequence_S: Integers, outcome_J: Floats, *, discount: float = 1.0
) -> Floats:
    """(S,) discount * V(after the turn) - V(before it); V at the end of an episode is its outcome.

    They telescope: with discount 1 the rewards of an episode sum to outcome - V(start), with another their
    discounted sum is discount^turns * outcome - V(start). In this form they do not change the optimal policy
    (Ng, Harada and Russell, 1999). The outcome of a truncated episode is one found by continuing it, or 0.
    """
    last = _last(sequence_S)
    after = np.roll(before_S, -1)
    after[last] = outcome_J[sequence_S[last]]
    return discount * after - before_S


def weighted(heads: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """(S,) sum of weight * reward over the heads; NaN in a head, a missing judgement, contributes 0.

    Raises `ConfigError` where a weight has no head, or a head no weight.
    """
    if heads.keys() != weights.keys():
        odd = ", ".join(sorted(heads.keys() ^ weights.keys()))
        raise ConfigError(f"every head needs a weight and every weight a head, unlike {odd}")
    return np.sum([weight * np.nan_to_num(heads[name]) for name, weight in weights.items()], axis=0)


def invalid_actions(steps: Steps) -> Floats:
    """(S,) -1 for an action that the environment could not execute: a head without a model."""
    return -steps.invalid.astype(np.float64)


def format_errors(steps: Steps) -> Floats:
    """(S,) -1 for a turn whose text has no mode's format."""
    return -(steps.mode == -1).astype(np.float64)


def repetitions(steps: Steps, actions: Sequence[str]) -> Floats:
    """(S,) -1 for an action that was taken before in the same episode and the same state."""
    seen: set[tuple[int, str, str]] = set()
    repeated = np.zeros(len(actions))
    for number, turn in enumerate(zip(steps.sequence.tolist(), steps.anchor, actions, strict=True)):
        repeated[number] = -1.0 if turn in seen else 0.0
        seen.add(turn)
    return repeated


def _first(sequence: Integers) -> NDArray[np.bool_]:
    return np.append(True, np.diff(sequence) != 0)[: len(sequence)]


def _last(sequence: Integers) -> NDArray[np.bool_]:
    return np.append(np.diff(sequence) != 0, True)[: len(sequence)]
