"""Draws of partners in a league: pure functions of its settings and of the results of earlier rounds.

The policy won 3 of 4 episodes beside checkpoint 1 and 0 of 2 beside checkpoint 2; it never met checkpoint 3,
and a script has a weight of 0.25. With `selfplay.latest = 0.5`:

    partner   w                      weight           probability
    latest                                            0.5
    0001      (3 + 1) / (4 + 2)      (1 - w)^2 0.11   0.5 * 0.11 / 1.17 = 0.05
    0002      (0 + 1) / (2 + 2)                0.56   0.24
    0003      1 / 2                            0.25   0.11
    random                                     0.25   0.11
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agentevol.config.self_evolution.selfplay import SelfPlayConfig

LATEST = "latest"
"""Name of the partner that is the policy itself."""
DISCOUNT = 0.9
"""Factor by which the results of a round count less with each later one: the policy has changed since."""
PRIOR = 1.0
"""Wins, and losses, that every partner begins with."""


class Tally(NamedTuple):
    """Results beside one partner."""

    episodes: float = 0.0
    """Number of episodes with a return in all seats."""
    wins: float = 0.0
    """Episodes in which the policy's return was above its partner's; equal returns are half a win."""
    reward: float = 0.0
    """Sum of the policy's returns."""

    def plus(self, other: "Tally", factor: float = 1.0) -> "Tally":
        """The sum with another tally, this one counting `factor` times."""
        return Tally(*(factor * mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def win_rate(self) -> float | None:
        """Share of wins; None without an episode."""
        return self.wins / self.episodes if self.episodes else None

    @property
    def mean_reward(self) -> float | None:
        """Mean return of the policy; None without an episode."""
        return self.reward / self.episodes if self.episodes else None


Tallies = Mapping[str, Tally]
"""Name of the partner -> results beside it."""


@dataclass(frozen=True)
class Candidate:
    """Partner that may be drawn."""

    name: str
    """`latest`, the folder of a checkpoint, or a script."""
    win_rate: float | None
    """Estimate of the latest policy's win rate; None beside itself."""
    weight: float | None
    """Weight among the partners other than the latest policy; None for that."""
    probability: float


def win_rates(rounds: Iterable[Tallies], names: Iterable[str]) -> dict[str, float]:
    """Estimated win rate beside each of these partners, from rounds in ascending order; 1/2 without any."""
    found = dict.fromkeys(names, Tally())
    for tallies in rounds:
        found = {name: tally.plus(tallies.get(name, Tally()), DISCOUNT) for name, tally in found.items()}
    return {name: (tally.wins + PRIOR) / (tally.episodes + 2 * PRIOR) for name, tally in found.items()}


def candidates(config: SelfPlayConfig, kept: Sequence[str], rates: Mapping[str, float]) -> list[Candidate]:
    """Partners that may be drawn; their probabilities add up to 1.

    `rates` has the estimated win rate beside every kept checkpoint and script.
    """
    weights = {name: (1.0 - rates[name]) ** 2 for name in kept} | dict(config.scripted)
    total = sum(weights.values())
    latest = config.latest if total else 1.0
    others = [
        Candidate(name, rates[name], weight, (1.0 - latest) * weight / total)
        for name, weight in weights.items()
    ]
    return [Candidate(LATEST, None, None, latest), *others]


def drawn(among: Sequence[Candidate], seed: int, iteration: int, task: str) -> str:
    """Name of the partner in this task's episodes."""
    digest = hashlib.sha256(f"{seed}/league/{iteration}/{task}".encode()).digest()
    point = int.from_bytes(digest[:8], "big") / 2**64
    for candidate in among:
        point -= candidate.probability
        if point < 0:
            return candidate.name
    return next(one.name for one in reversed(among) if one.probability)  # rounding


def seat_of(number: int, iteration: int, seats: int) -> int:
    """Seat of the policy in the episodes of an iteration's task of this number: seats alternate."""
    return (number + iteration) % seats
