"""Questions over chains of facts."""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from agentgym_envs.searchqa.generator.world import RELATIONS, World, world

HOPS: Final = (1, 2, 3, 4)
COUNTS: Final = {"train": 2_000, "valid": 100, "test": 100}
"""Questions of each number of hops."""
_BY_NAME: Final = {one.name: one for one in RELATIONS}


@dataclass(frozen=True)
class Chain:
    """Entities, from the one that is named in the question to the one that the last relation is of, and the
    relations between them.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    answer: str

    @property
    def question(self) -> str:
        """Text of the question."""
        last = _BY_NAME[self.relations[-1]]
        word = "Who" if last.object == "person" else "What"
        return f"{word} is {self.phrase(len(self.relations))}?"

    def phrase(self, hops: int) -> str:
        """Noun phrase for the entity after so many hops: `the country of the birthplace of Ana Rielek`."""
        text = self.entities[0]
        for name in self.relations[:hops]:
            text = _BY_NAME[name].phrase.format(x=text)
        return text


@cache
def chains(split: str, hops: int) -> tuple[Chain, ...]:
    """Different questions of a split with this number of hops."""
    own = world(split)
    draw = Random(f"agentevol.searchqa.{split}.{hops}")
    starts = list(own.kinds)
    found: dict[str, Chain] = {}
    while len(found) < COUNTS[split]:
        chain = _drawn(own, draw, draw.choice(starts), hops)
        if chain is not None:
            found.setdefault(chain.question, chain)
    return tuple(found.values())


def _drawn(own: World, draw: Random, start: str, hops: int) -> Chain | None:
    """A random chain; None where it comes back to an entity, or to a value too early."""
    entities, relations = [start], list[str]()
    for hop in range(hops):
        is_last = hop == hops - 1
        kind = own.kinds[entities[-1]]
        open_ones = [one for one in RELATIONS if one.subject == kind and (is_last or one.object != "value")]
        relation = draw.choice(open_ones)
        relations.append(relation.name)
        reached = own.facts[entities[-1]][relation.name]
        if is_last:
            return None if reached in entities else Chain(tuple(entities), tuple(relations), reached)
        if reached in entities:
            return None
        entities.append(reached)
    return None
