"""Generated schemas, and their content."""

import random
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from agentgym_envs.sql.executor.results import Value
from agentgym_envs.sql.generator import words
from agentgym_envs.sql.generator.words import Noun, Number

ROWS = (12, 36)
LINK_ROWS = (25, 60)


@dataclass(frozen=True)
class Reference:
    """Foreign key to the `id` of another entity."""

    column: str
    parent: int
    """Place of the entity in the schema."""


@dataclass(frozen=True)
class Entity:
    """Table of things with a name."""

    noun: Noun
    categories: tuple[str, ...]
    numbers: tuple[str, ...]
    references: tuple[Reference, ...]

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.noun.many


@dataclass(frozen=True)
class Link:
    """Table of relations between two entities."""

    noun: Noun
    left: Reference
    right: Reference
    number: str

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.noun.many


@dataclass(frozen=True)
class Schema:
    """Three to seven tables."""

    entities: tuple[Entity, ...]
    links: tuple[Link, ...]

    @property
    def ddl(self) -> list[str]:
        """Statements that create the tables."""
        return [*map(self._entity, self.entities), *map(self._link, self.links)]

    def _entity(self, entity: Entity) -> str:
        columns = [
            "id INTEGER PRIMARY KEY",
            "name TEXT NOT NULL",
            *(f"{name} TEXT" for name in entity.categories),
            *(f"{name} {_type(words.NUMBERS[name])}" for name in entity.numbers),
            *(self._reference(reference) for reference in entity.references),
        ]
        return f"CREATE TABLE {entity.table} ({', '.join(columns)})"

    def _link(self, link: Link) -> str:
        columns = [
            "id INTEGER PRIMARY KEY",
            self._reference(link.left),
            self._reference(link.right),
            f"{link.number} {_type(words.LINK_NUMBERS[link.number])}",
        ]
        return f"CREATE TABLE {link.table} ({', '.join(columns)})"

    def _reference(self, reference: Reference) -> str:
        return f"{reference.column} INTEGER REFERENCES {self.entities[reference.parent].table} (id)"


def draw_schema(split: str, draw: random.Random) -> Schema:
    """A schema of nouns of a split."""
    entities = draw.randint(2, 5)
    nouns = draw.sample(words.ENTITIES[split], entities)
    made = list[Entity]()
    for place, noun in enumerate(nouns):
        parents = draw.sample(range(place), 1) if place and (place == 1 or draw.random() < 0.8) else []
        made.append(
            Entity(
                noun,
                tuple(draw.sample(list(words.CATEGORIES), draw.randint(1, 2))),
                tuple(draw.sample(list(words.NUMBERS), draw.randint(2, 3))),
                tuple(_to(nouns, parent) for parent in parents),
            )
        )
    links = [_draw_link(nouns, noun, draw) for noun in draw.sample(words.LINKS[split], draw.randint(1, 2))]
    return Schema(tuple(made), tuple(links))


def build(schema: Schema, draw: random.Random) -> bytes:
    """The bytes of a database with this schema."""
    connection = sqlite3.connect(":memory:")
    sizes = list[int]()
    for entity, statement in zip(schema.entities, schema.ddl, strict=False):
        connection.execute(statement)
        rows = _entity_rows(entity, sizes, draw)
        sizes.append(len(rows))
        _insert(connection, entity.table, rows)
    for link, statement in zip(schema.links, schema.ddl[len(schema.entities) :], strict=True):
        connection.execute(statement)
        _insert(connection, link.table, _link_rows(link, sizes, draw))
    connection.commit()
    image = connection.serialize()
    connection.close()
    return image


def _draw_link(nouns: Sequence[Noun], noun: Noun, draw: random.Random) -> Link:
    left, right = draw.sample(range(len(nouns)), 2)
    return Link(noun, _to(nouns, left), _to(nouns, right), draw.choice(list(words.LINK_NUMBERS)))


def _to(nouns: Sequence[Noun], parent: int) -> Reference:
    return Reference(f"{nouns[parent].one}_id", parent)


def _type(number: Number) -> str:
    return "REAL" if number.digits else "INTEGER"


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[Value]]) -> None:
    marks = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _entity_rows(entity: Entity, sizes: Sequence[int], draw: random.Random) -> list[list[Value]]:
    choices = [draw.sample(words.CATEGORIES[name], draw.randint(3, 4)) for name in entity.categories]
    rows = list[list[Value]]()
    for number in range(1, draw.randint(*ROWS) + 1):
        row: list[Value] = [number, _name(draw)]
        row += [draw.choice(values) for values in choices]
        row += [_number(words.NUMBERS[name], draw) for name in entity.numbers]
        row += [_parent(sizes[reference.parent], draw) for reference in entity.references]
        rows.append(row)
    return rows


def _link_rows(link: Link, sizes: Sequence[int], draw: random.Random) -> list[list[Value]]:
    number = words.LINK_NUMBERS[link.number]
    return [
        [
            place,
            _parent(sizes[link.left.parent], draw),
            _parent(sizes[link.right.parent], draw),
            _number(number, draw),
        ]
        for place in range(1, draw.randint(*LINK_ROWS) + 1)
    ]


def _name(draw: random.Random) -> str:
    return f"{draw.choice(words.FIRST)}{draw.choice(words.MIDDLE)}{draw.choice(words.LAST)}"


def _number(number: Number, draw: random.Random) -> Value:
    if number.digits:
        return round(draw.uniform(number.low, number.high), number.digits)
    return draw.randint(number.low, number.high)


def _parent(size: int, draw: random.Random) -> int:
    """A parent; the first ones have more children, the last ones often none."""
    return min(int(size * draw.random() ** 1.6), size - 1) + 1
