"""State values estimated by counting: the share of successful continuations from a state.

A state is reached again by `reset` and the same actions, which has to show the same observations
(`fingerprint`); from there the policy plays K continuations. Where an environment cannot be replayed,
episodes of one task that passed through the same state serve as continuations (`pooled`).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import nan

import numpy as np
from numpy.typing import NDArray

from agentevol.core.errors import ConfigError


@dataclass(frozen=True)
class StateValue:
    """Counts of the continuations of one state; kept since 1 of 1 is weaker evidence than 8 of 8."""

    successes: float
    """Sum of the outcomes, each in [0, 1]."""
    samples: int
    """K, the number of continuations."""

    @property
    def value(self) -> float:
        """Share of successes; NaN without a continuation."""
        return self.successes / self.samples if self.samples else nan


StateValues = Mapping[str, Mapping[int, StateValue]]
"""Episode -> turn -> value of the state after it."""


def counted(outcomes: Sequence[float]) -> StateValue:
    """State value from the outcomes of continuations; raises `ConfigError` for one outside [0, 1]."""
    if not all(0 <= outcome <= 1 for outcome in outcomes):
        raise ConfigError(f"outcomes of continuations lie in [0, 1], unlike {list(outcomes)}")
    return StateValue(float(sum(outcomes)), len(outcomes))


def pooled(
    states: Sequence[Hashable],
    sequence: NDArray[np.int64],
    outcomes: Sequence[float],
    *,
    at_least: int = 3,
) -> list[StateValue | None]:
    """(S,) value of the state of each turn, over all episodes that passed through it.

    `states` (S,) identify task and state, `sequence` (S,) the episode, `outcomes` (J,) are those of the
    episodes. An episode counts once per state; None below `at_least` episodes.
    """
    passed: dict[Hashable, set[int]] = {}
    for state, episode in zip(states, sequence.tolist(), strict=True):
        passed.setdefault(state, set()).add(episode)
    values = {
        state: counted([outcomes[episode] for episode in sorted(episodes)])
        for state, episodes in passed.items()
    }
    return [values[state] if values[state].samples >= at_least else None for state in states]


def fingerprint(observations: Sequence[str]) -> str:
    """Hash of an environment's observations, turn by turn; a replay of another hash has failed and gets no
    label.
    """
    digest = sha256()
    for observation in observations:
        text = observation.encode()
        digest.update(len(text).to_bytes(8, "big") + text)  # with lengths: ["ab", ""] is not ["a", "b"]
    return digest.hexdigest()
