"""Tasks of BabyAI: levels by name, seeds by split."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from agentgym_envs.babyai import levels
from agentgym_envs.babyai.episode import moment
from agentgym_envs.core import Task

FIRST_SEEDS: Final = {"train": 0, "valid": 1_000_000, "test": 2_000_000}
"""First of the million seeds of each split."""
COUNTS: Final = {"train": 1_000, "valid": 25, "test": 25}
"""Tasks of a level by split."""
SHARES: Final = {0: "valid", 1: "test", 2: "train", 3: "train"}
"""Split by the hash of the first observation, modulo 4."""
MOST_ATTEMPTS: Final = 900
AGENTGYM_SEEDS: Final = 100
"""Seeds of each level in AgentGym's numbering."""


class BabyAITask(Task):
    """Level and seed."""

    level: str
    level_seed: int
    mission: str


@dataclass(frozen=True)
class Draft:
    """Facts of a generated level."""

    level: str
    seed: int
    mission: str
    rooms: int
    split: str | None
    """Split of its first observation; None where it cannot be won."""


@lru_cache(maxsize=4096)
def drafted(level: str, seed: int) -> Draft:
    """The level of a seed. Raises `KeyError` for an unknown one, and `UnluckySeedError`."""
    made: Any = levels.opened(level)
    levels.generate(made, seed)
    split = SHARES[_digest(made) % len(SHARES)] if levels.is_winnable(made) else None
    return Draft(level, seed, str(made.mission), int(made.num_rows * made.num_cols), split)


def _digest(level: Any) -> int:
    """Hash of the first observation. Grids that differ elsewhere alone may be the same episode."""
    first = moment(level, level.gen_obs()["image"], original=False)
    text = f"{level.mission}\n{first.text}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def found(level: str, split: str, number: int) -> Draft:
    """The draft with this number in a split: the first of its seeds that belongs there.

    Seeds of a number lie `COUNTS[split]` apart. Raises `UnluckySeedError` where none of them does.
    """
    for attempt in range(MOST_ATTEMPTS):
        seed = FIRST_SEEDS[split] + number + attempt * COUNTS[split]
        try:
            draft = drafted(level, seed)
        except levels.UnluckySeedError:
            continue
        if draft.split == split:
            return draft
    raise levels.UnluckySeedError(f"{level} has no task {number} in {split}")
