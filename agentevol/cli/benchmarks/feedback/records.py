"""Generated opinions: five sources score episodes and turns, and compare pairs."""

import random
from collections.abc import Iterator
from typing import Any

from agentgym_store.feedback.records import Feedback

SOURCES = ("human:Anna", "human:Bob", "judge:first", "judge:second", "judge:third")
NOISE = (0.05, 0.1, 0.1, 0.2, 0.4)
"""Standard deviation of each source's scores."""
SHARES = (0.5, 0.8)
"""Up to the first of the opinions score episodes, up to the second turns; the others compare pairs."""


def opinions(count: int, names: list[str], turns: int) -> Iterator[Feedback]:
    """So many opinions on these episodes, each thing by all five sources."""
    draw = random.Random(0)
    for number in range(count):
        place, source = divmod(number, len(SOURCES))
        quality = random.Random(place).random()
        told = min(1.0, max(0.0, quality + draw.gauss(0, NOISE[source])))
        name, other = names[2 * place % len(names)], names[(2 * place + 1) % len(names)]
        share = number / count
        opinion: dict[str, Any] = {"kind": "score", "value": 1 + 9 * told, "low": 1.0, "high": 10.0}
        if share >= SHARES[1]:
            opinion = {"kind": "comparison", "other": other, "verdict": "better" if told > 0.5 else "worse"}
        turn = place % turns if SHARES[0] <= share < SHARES[1] else None
        yield Feedback.model_validate(
            {"trajectory_id": name, "turn": turn, "source": SOURCES[source], "opinion": opinion}
        )
