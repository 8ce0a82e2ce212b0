"""Goal sets of the environment: the generated one, and those of imported catalogues.

    synth           train, valid, test
    1k-synthetic    1k-synthetic-train, 1k-synthetic-test
    full-human      full-human-train, full-human-valid, full-human-test

Scores of different sets do not compare: the small synthetic one is far easier than the full human one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from agentgym_envs.webshop import synth
from agentgym_envs.webshop.catalogues.stored import StoredCatalogue, Wishes
from agentgym_envs.webshop.generator.names import SPLITS
from agentgym_envs.webshop.official import library
from agentgym_envs.webshop.official.splits import disjoint
from agentgym_envs.webshop.rules import COMPAT, FIXED, Rules

Splits = Literal["official", "disjoint"]
"""Split rule: by number, as published (products recur in all splits), or by product."""


@dataclass(frozen=True, eq=False)
class GoalSet:
    """Goals over one catalogue."""

    name: str
    catalogue: StoredCatalogue
    wishes: Wishes
    rules: Rules
    """Default rules."""
    places: Mapping[str, Sequence[int]]
    """Split -> indices of wishes, in order."""

    @property
    def imported(self) -> bool:
        """True if it is a benchmark's."""
        return self.name != synth.NAME

    def split_of(self, place: int) -> str:
        """The split of the wish with this index."""
        return _split_of(self)[place]

    def of_difficulty(self, split: str, difficulty: str) -> Sequence[int]:
        """As `places`, of one difficulty."""
        return _of_difficulty(self, split, difficulty)


@lru_cache(maxsize=32)
def open_all(home: Path, split: Splits, seed: int = 0) -> Mapping[str, GoalSet]:
    """Goal sets by name; `seed` is that of the generated shop. A later import is seen by processes that start
    later.
    """
    generated = synth.catalogue(home, seed)
    wishes = generated.wishes(synth.NAME)
    numbered = _by_number(wishes)
    places = {part: numbered[part] for part in SPLITS}
    found = {synth.NAME: GoalSet(synth.NAME, generated, wishes, FIXED, places)}
    for label in library.imported(home):
        catalogue = library.opened(home, label)
        for kind in catalogue.goal_sets:
            name = f"{label}-{kind}"
            wishes = catalogue.wishes(kind)
            places = _by_number(wishes) if split == "official" else _by_product(wishes)
            named = {f"{name}-{part}": places[part] for part in SPLITS if len(places.get(part, ()))}
            found[name] = GoalSet(name, catalogue, wishes, COMPAT, named)
    return found


@lru_cache(maxsize=64)
def _of_difficulty(goals: GoalSet, split: str, difficulty: str) -> Sequence[int]:
    return [place for place in goals.places[split] if goals.wishes[place].difficulty == difficulty]


@lru_cache(maxsize=64)
def _split_of(goals: GoalSet) -> list[str]:
    found = [""] * len(goals.wishes)
    for split, places in goals.places.items():
        for place in places:
            found[place] = split
    return found


def _by_number(wishes: Wishes) -> dict[str, list[int]]:
    return {part: places.tolist() for part, places in wishes.splits.items()}


def _by_product(wishes: Wishes) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {part: [] for part in SPLITS}
    for place, part in enumerate(disjoint(wishes, seed=0)):
        found[part].append(place)
    return found
