"""Temperaments: how fast a partner concedes, when it loses patience, and how it rounds and bluffs.

Drawn from the episode's seed, never from the task; an agent learns them only after the end.
"""

import math
from random import Random
from typing import Any, Final, Literal

from agentgym_envs.core import Record

Kind = Literal["boulware", "linear", "conceder", "mirror", "stubborn", "impatient"]

KINDS: Final[dict[str, tuple[Kind, ...]]] = {
    "1": ("linear", "conceder", "mirror"),
    "2": ("boulware", "linear", "conceder", "mirror", "stubborn"),
    "3": ("boulware", "mirror", "stubborn"),
}
"""Temperaments by difficulty."""

EXPONENTS: Final[dict[Kind, tuple[tuple[float, float], tuple[float, float]]]] = {
    "boulware": ((0.2, 0.5), (0.12, 0.2)),
    "linear": ((0.8, 1.25), (0.6, 0.8)),
    "conceder": ((2.0, 5.0), (5.0, 8.0)),
    "mirror": ((0.8, 1.25), (0.6, 0.8)),
    "stubborn": ((0.12, 0.12), (0.12, 0.12)),
    "impatient": ((0.8, 1.25), (0.6, 0.8)),
}
"""Range of the exponent b in `train`, and in `valid` and `test`."""

PATIENCE: Final = (4, 9)
IMPATIENT: Final = 3
LATE_JUMP: Final = 0.35
NOISE: Final = 0.03


class Temperament(Record):
    """Hidden parameters of a partner that bargains."""

    kind: Kind
    exponent: float
    """b of f(n) = (n / (turns - 1)) ** (1 / b): above 1 the partner concedes early, below 1 late."""
    mirroring: float = 0.0
    """Weight of the opponent's own concession, 0 to 1."""
    jump: bool = False
    """Whether it gives way all at once near the end."""
    greed: float
    """Excess of its first offer over its target, as a share."""
    patience: int
    """It leaves when the other's offer has not changed this many times."""
    rounding: float
    """1 and 5: multiples; 0.99: prices just below a whole number."""
    bluff: float
    """Probability that an offer is called the last one, falsely."""
    noise: float = 0.0

    def concession(self, turn: int, turns: int, opponent: float, draws: Random) -> float:
        """Progress of the partner from its first offer (0) to its limit (1) in its turn `turn`, from 0.

        `opponent` is how far the other side has come towards it, 0 to 1.
        """
        share = min(1.0, turn / max(1, turns - 1))
        own = share ** (1 / self.exponent) if share else 0.0
        if self.jump and share >= 0.75:
            own = max(own, LATE_JUMP)
        if self.noise and 0 < share < 1:
            own += draws.uniform(0, self.noise)
        mixed = (1 - self.mirroring) * own + self.mirroring * opponent
        return min(1.0, max(0.0, mixed))


def drawn_temperament(draws: Random, split: str, level: str) -> Temperament:
    """A temperament of a level, from the ranges of a split."""
    kinds: tuple[Kind, ...] = (*KINDS[level], *(("impatient",) if split == "test" else ()))  # type: ignore[assignment] - literals
    kind, held_out = draws.choice(kinds), split != "train"
    low, high = EXPONENTS[kind][held_out]
    return Temperament(
        kind=kind,
        exponent=round(math.exp(draws.uniform(math.log(low), math.log(high))), 4),
        mirroring=_mirroring(draws, held_out) if kind == "mirror" else 0.0,
        jump=kind == "stubborn" and held_out,
        noise=NOISE if kind == "stubborn" else 0.0,
        greed=round(draws.uniform(0, 0.35), 4),
        patience=IMPATIENT if kind == "impatient" else draws.randint(*PATIENCE),
        rounding=draws.choice((1.0, 5.0, 0.99)),
        bluff=round(draws.uniform(0, 0.3), 4),
    )


def rounded(price: float, rounding: float) -> float:
    """A price as a partner likes to write it; small ones only to cents."""
    if price < 40:
        return round(price, 2)
    if rounding == 0.99:
        return round(price) - 0.01
    return float(round(price / rounding) * rounding)


def _mirroring(draws: Random, held_out: bool) -> float:
    return round(draws.uniform(*((0.8, 0.95) if held_out else (0.2, 0.8))), 4)


Hidden = dict[str, Any]
"""Hidden parameters as JSON, for the record of an episode."""
