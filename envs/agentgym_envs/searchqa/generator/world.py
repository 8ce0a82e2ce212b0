"""Invented entities of a split and the facts that link them."""

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final, Literal

from agentgym_envs.knowledge.names import Words, words
from agentgym_envs.searchqa.records import Passage

Kind = Literal["book", "person", "company", "town", "country", "value"]

COUNTRIES, TOWNS, COMPANIES, PEOPLE, BOOKS = 30, 160, 90, 420, 220
NOUNS: Final = (
    *("Lantern", "Harbour", "Winter", "Garden", "Orchard", "Letter", "Bridge", "Mirror", "Promise", "Shadow"),
    *("Voyage", "Clock", "Island", "Forest", "Kingdom", "Secret", "River", "Silence", "Painter", "Harvest"),
)
TRADES: Final = ("Works", "Mills", "Foundry", "Press", "Shipyards", "Bakeries", "Optics", "Textiles")


@dataclass(frozen=True)
class Relation:
    """Relation of entities of a kind to others, or to values."""

    name: str
    subject: Kind
    object: Kind
    phrase: str
    """Noun phrase for the object: `the author of {x}`."""
    statements: tuple[str, ...]
    """Sentences of a passage, with `{x}` and `{y}`."""


def _relation(name: str, subject: Kind, reached: Kind, phrase: str, *statements: str) -> Relation:
    return Relation(name, subject, reached, f"the {phrase} of {{x}}", statements)


RELATIONS: Final = (
    _relation("author", "book", "person", "author", "{x} was written by {y}.", "{y} wrote {x}."),
    _relation(
        "illustrator",
        "book",
        "person",
        "illustrator",
        "The pictures in {x} are by {y}.",
        "{x} was illustrated by {y}.",
    ),
    _relation(
        "publication",
        "book",
        "value",
        "year of publication",
        "{x} was published in {y}.",
        "{x} came out in {y}.",
    ),
    _relation("birthplace", "person", "town", "birthplace", "{x} was born in {y}.", "{x} comes from {y}."),
    _relation(
        "teacher", "person", "person", "teacher", "{x} was taught by {y}.", "The teacher of {x} was {y}."
    ),
    _relation("employer", "person", "company", "employer", "{x} works for {y}.", "{x} has a post at {y}."),
    _relation(
        "birth", "person", "value", "year of birth", "{x} was born in {y}.", "The year of birth is {y}."
    ),
    _relation("founder", "company", "person", "founder", "{x} was founded by {y}.", "{y} founded {x}."),
    _relation("seat", "company", "town", "seat", "{x} has its seat in {y}.", "{x} sits in {y}."),
    _relation("country", "town", "country", "country", "{x} is a town in {y}.", "{x} lies in {y}."),
    _relation("mayor", "town", "person", "mayor", "The mayor of {x} is {y}.", "{x} is led by {y}."),
    _relation(
        "river", "town", "value", "river", "{x} stands on the river {y}.", "The {y} flows through {x}."
    ),
    _relation("capital", "country", "town", "capital", "The capital of {x} is {y}.", "{y} is {x}'s capital."),
    _relation(
        "currency",
        "country",
        "value",
        "currency",
        "People in {x} pay with the {y}.",
        "The currency of {x} is the {y}.",
    ),
)


@dataclass(frozen=True)
class World:
    """Entities of a split."""

    names: dict[Kind, tuple[str, ...]]
    """Entities by kind."""
    facts: dict[str, dict[str, str]]
    """Object by the subject's name and the relation's."""
    kinds: dict[str, Kind]
    passages: tuple[Passage, ...]
    """A passage of each entity, in random order."""


@cache
def world(split: str) -> World:
    """The world of a split."""
    draw = Random(f"agentevol.searchqa.{split}")
    names = _named(words(split), draw)
    kinds: dict[str, Kind] = {name: kind for kind, ones in names.items() for name in ones}
    facts = {name: dict[str, str]() for name in kinds}
    values = _Values(words(split), draw)
    for relation in RELATIONS:
        for name in names[relation.subject]:
            facts[name][relation.name] = (
                values.of(relation.name)
                if relation.object == "value"
                else draw.choice([one for one in names[relation.object] if one != name])
            )
    capitals = draw.sample(names["town"], COUNTRIES)
    for country, capital in zip(names["country"], capitals, strict=True):
        facts[country]["capital"], facts[capital]["country"] = capital, country
    passages = [_passage(name, kinds[name], facts[name], draw) for name in kinds]
    draw.shuffle(passages)
    return World(names, facts, kinds, tuple(passages))


def _named(own: Words, draw: Random) -> dict[Kind, tuple[str, ...]]:
    """Different names of each kind of entity."""
    people: dict[str, None] = {}
    while len(people) < PEOPLE:
        people[f"{draw.choice(own.given)} {draw.choice(own.surnames)}"] = None
    coined = draw.sample(own.coined, BOOKS + COMPANIES)
    return {
        "book": tuple(f"The {draw.choice(NOUNS)} of {one}" for one in coined[:BOOKS]),
        "person": tuple(people),
        "company": tuple(f"{one} {draw.choice(TRADES)}" for one in coined[BOOKS:]),
        "town": tuple(draw.sample(own.places, TOWNS)),
        "country": tuple(draw.sample(own.countries, COUNTRIES)),
    }


class _Values:
    """Values that are no entities."""

    def __init__(self, own: Words, draw: Random) -> None:
        self._draw = draw
        self._rivers = draw.sample(own.coined, 120)
        self._currencies = [one.lower() for one in draw.sample(own.coined, 60)]

    def of(self, relation: str) -> str:
        """A value for a relation."""
        if relation == "river":
            return self._draw.choice(self._rivers)
        if relation == "currency":
            return self._draw.choice(self._currencies)
        first, last = (1880, 1990) if relation == "birth" else (1950, 2020)
        return str(self._draw.randrange(first, last))


def _passage(name: str, kind: Kind, facts: dict[str, str], draw: Random) -> Passage:
    own = [one for one in RELATIONS if one.subject == kind]
    sentences = [draw.choice(one.statements).format(x=name, y=facts[one.name]) for one in own]
    draw.shuffle(sentences)
    return Passage(title=name, text=" ".join(sentences))
