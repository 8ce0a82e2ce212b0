"""Baselines by seat and world: exponential means of earlier returns (arXiv:2506.24119).

Returns 1, 0 and 1 of one seat, with a decay of 0.95:

    return   baseline                                    advantage
    1        none                                        0
    0        1                                           -1
    1        (0.95 * 1 + 0) / (0.95 + 1) = 0.487          0.513

The mean of a group of samples of one task and seat hides what its seat gains by moving first, and needs
several samples; this one does neither. The baseline of an episode is of those before it, in an order by the
hash of their ids, so that episodes of one task are not next to each other.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import nan
from typing import NamedTuple

from agentevol.core.protocols import EpisodeFacts
from agentgym_store.records import Trajectory

DECAY = 0.95


class SeatMean(NamedTuple):
    """Exponential mean of the returns of one seat in one world."""

    total: float = 0.0
    """Sum of the returns, each times the decay to the power of the number of later ones."""
    weight: float = 0.0
    """Sum of these factors."""

    @property
    def value(self) -> float | None:
        """The mean; None before the first return."""
        return self.total / self.weight if self.weight else None

    def after(self, reward: float) -> "SeatMean":
        """The mean with one more return."""
        return SeatMean(DECAY * self.total + reward, DECAY * self.weight + 1.0)


SeatMeans = Mapping[str, SeatMean]
"""Name of the world and the seat -> mean."""
NO_MEANS: SeatMeans = {}


class Played(NamedTuple):
    """Return of one seat of an episode."""

    id: str
    environment: str
    seat: int
    reward: float

    @property
    def player(self) -> str:
        """Name of the world and the seat."""
        return f"{self.environment} seat {self.seat}"


def followed(
    played: Iterable[Played], before: SeatMeans
) -> tuple[dict[str, float | None], dict[str, SeatMean]]:
    """Baseline of each of these episodes by id, None for the first one of its seat, and the means after them
    all.
    """
    means, found = dict(before), dict[str, float | None]()
    for one in sorted(played, key=lambda one: hashlib.sha256(one.id.encode()).digest()):
        mean = means.get(one.player, SeatMean())
        found[one.id], means[one.player] = mean.value, mean.after(one.reward)
    return found, means


def with_baselines(
    trajectories: Iterable[Trajectory], facts: Mapping[str, EpisodeFacts], before: SeatMeans
) -> dict[str, EpisodeFacts]:
    """The facts of these episodes by id with their baselines; NaN where there is none."""
    played = [Played(one.id, one.env, one.seat, one.total_reward or 0.0) for one in trajectories]
    known, _ = followed(played, before)
    numbers = {name: nan if value is None else value for name, value in known.items()}
    return {name: replace(one, baseline=numbers[name]) for name, one in facts.items()}
