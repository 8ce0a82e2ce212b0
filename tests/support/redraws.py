"""Drafts of the assistant with one word changed: a draw of the draft is repeated, the others stay."""

from collections.abc import Iterator
from random import Random
from typing import Any

from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tasks.drafts import Setting, Template
from agentgym_envs.assistant.tasks.gold import Gold
from agentgym_envs.assistant.tasks.matching import same_change
from agentgym_envs.assistant.tasks.templates import accepted

REPEATED = 8
"""Other values of a draw."""
COMPARED = ("matchers", "refusal", "evidence")
SEEDS = 200
"""Seeds that are tried for an acceptable draft."""


class Draws(Random):
    """Random numbers of a seed; the draw `number` comes from `other`."""

    def __init__(self, seed: str, number: int = -1, other: Random | None = None, flip: bool = False) -> None:
        super().__init__(seed)
        self.number, self.other, self.flip = number, other, flip
        self.names = list[str]()
        """Function of each draw so far."""

    def choice(self, seq: Any) -> Any:
        return self._drawn("choice", seq)

    def randrange(self, *limits: int) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._drawn("randrange", *limits)

    def random(self) -> float:
        """A flag of a template and no word: which of two branches is wanted."""
        drawn = super().random()
        return 1 - drawn if self.flip else drawn

    def getrandbits(self, k: int, /) -> int:
        """As in `Random`; named here so that choices are still drawn by bits."""
        return super().getrandbits(k)

    def phrased(self, phrasings: tuple[str, ...]) -> str:
        """One of several phrasings."""
        return super().choice(phrasings)

    def _drawn(self, name: str, *arguments: Any) -> Any:
        number = len(self.names)
        self.names.append(name)
        own = getattr(super(), name)(*arguments)  # drawn always, so that later draws stay
        return getattr(self.other, name)(*arguments) if number == self.number and self.other else own


class Redrawing(Setting):
    """Setting whose phrasings are no draws, so that other words are another request."""

    def say(self, *phrasings: str) -> str:
        return self.random.phrased(phrasings) if isinstance(self.random, Draws) else super().say(*phrasings)


def drafted(template: Template, session: Session, split: str, draws: Draws) -> Gold | None:
    """The gold of a draft; None where it is not acceptable."""
    found = template(Redrawing(draws, session, split))
    made = None if found is None else accepted(found, session)
    return made and made[0]


def words_without_effect(template: Template, session: Session, split: str, seed: str) -> list[int]:
    """Draws of the first acceptable draft that change its instruction, but never its gold."""
    for attempt in range(SEEDS):
        draws = Draws(f"{seed}/{attempt}")
        gold = drafted(template, session, split, draws)
        if gold is not None:
            break
    else:
        raise LookupError(f"no draft of seed {seed!r}")
    seed = f"{seed}/{attempt}"

    def changed(number: int) -> Iterator[Gold]:
        for repeat in range(2 * REPEATED):
            again = Draws(seed, number, Random(f"{number}/{repeat // 2}"), flip=repeat % 2 == 1)
            other = drafted(template, session, split, again)
            if other is not None and other.draft.instruction != gold.draft.instruction:
                yield other

    return [number for number in range(len(draws.names)) if _all_same(gold, list(changed(number)))]


def _all_same(gold: Gold, others: list[Gold]) -> bool:
    return bool(others) and all(same_gold(gold, other) for other in others)


def same_gold(one: Gold, other: Gold) -> bool:
    """True if the same episodes are right."""
    return (
        same_change(one.change, other.change, one.draft.matchers)
        and one.answer == other.answer
        and all(getattr(one.draft, name) == getattr(other.draft, name) for name in COMPARED)
    )
