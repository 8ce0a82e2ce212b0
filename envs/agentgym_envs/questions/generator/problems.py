"""Problems with their solutions, by split, level and number: `problem`.

    Problem("Ada has 12 plums. She buys 3 bags with 4 plums each. How many plums does Ada have now?", ...)

A problem belongs to the split of its content, the form and its numbers: the same numbers with another name
are not in two splits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from random import Random

from agentgym_envs.questions.generator.steps import Step, careless, solution

SEED = "questions/1"
"""Beginning of the seed of a problem. It stays when a version changes only the splits, so that held-out
problems stay too.
"""
VERSION = "2"
"""Part of `data_version`: another generator makes other tasks."""
LEVELS: dict[str, tuple[int, int]] = {"1": (1, 1), "2": (2, 2), "3": (3, 3), "4": (4, 5)}
"""Fewest and most operations of a level."""
COUNTS = {"train": 20_000, "valid": 250, "test": 250, "sft": 20_000}
"""Problems of each level in a split. Those of `sft` are for demonstrations: a policy that was shown problems
of `train` would be right about them more often than about new ones.
"""
SPLITS: dict[str, range] = {
    "train": range(5, 10),
    "valid": range(10, 11),
    "test": range(11, 12),
    "sft": range(5),
}
"""Residues modulo 12 of a problem's digest, by split."""


@dataclass(frozen=True)
class Problem:
    """A question with the steps that answer it."""

    text: str
    kind: str
    steps: tuple[Step, ...]
    links: tuple[tuple[int, int], ...]
    """For each step, the earlier ones that its numbers are results of; -1 for numbers of the text."""
    content: str
    """Form and numbers, without names."""

    @property
    def answer(self) -> int:
        """Result of the last step."""
        return self.steps[-1].result

    @property
    def solution(self) -> str:
        """The worked solution."""
        return solution(self.steps)

    def attempt(self, random: Random, care: float) -> str:
        """The text of a player who miscalculates each step with probability 1 - `care`."""
        return careless(self.steps, self.links, random, care)

    @property
    def is_plain(self) -> bool:
        """True if every step is one on small whole numbers, and the answer is not 0."""
        return self.answer > 0 and all(step.is_plain for step in self.steps)


Form = Callable[[Random, int], Problem | None]
"""Function that draws a problem of a form with a number of operations; None where the numbers do not fit."""


@lru_cache(maxsize=1024)
def problem(split: str, level: str, number: int) -> Problem:
    """The problem with this number; equal arguments give equal problems on every machine."""
    random = Random(f"{SEED}/{split}/{level}/{number}")
    forms = _forms()
    while True:
        drawn = random.choice(forms)(random, random.randint(*LEVELS[level]))
        if drawn is not None and drawn.is_plain and residue(drawn) in SPLITS[split]:
            return drawn


def residue(drawn: Problem) -> int:
    """Residue of a problem's content, by which it belongs to a split."""
    return int.from_bytes(sha256(drawn.content.encode()).digest()[:8], "big") % 12


@lru_cache(maxsize=1)
def _forms() -> Sequence[Form]:
    from agentgym_envs.questions.generator import calculations, purchases, stories

    return (calculations.calculation, stories.story, stories.story, purchases.purchase)
