"""Random parts of questions, from a schema and the content of its database."""

import random
import sqlite3
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from agentgym_envs.sql.executor.results import Value
from agentgym_envs.sql.generator import words
from agentgym_envs.sql.generator.query import Query, Write, literal
from agentgym_envs.sql.generator.schemas import Entity, Link, Schema


class Draft(NamedTuple):
    """A question and its gold, not yet judged."""

    kind: str
    question: str
    query: Query | Write

    @property
    def writes(self) -> bool:
        """True if the gold changes rows."""
        return isinstance(self.query, Write)


class Condition(NamedTuple):
    """A condition as SQL and in words, `whose region is Estmark`."""

    sql: str
    text: str


class Pair(NamedTuple):
    """A child entity, its parent, and the column that refers to it."""

    child: Entity
    parent: Entity
    column: str


@dataclass
class Material:
    """Source of the parts of one database's questions."""

    schema: Schema
    image: bytes
    draw: random.Random

    @cached_property
    def _content(self) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.deserialize(self.image)
        return connection

    def entity(self) -> Entity:
        """A table."""
        return self.draw.choice(self.schema.entities)

    def pair(self) -> Pair:
        """A table and one to which it refers; every schema has some."""
        pairs = [
            Pair(entity, self.schema.entities[reference.parent], reference.column)
            for entity in self.schema.entities
            for reference in entity.references
        ]
        return self.draw.choice(pairs)

    def link(self) -> tuple[Link, Entity, Entity]:
        """A table of relations, with its entities in either order."""
        link = self.draw.choice(self.schema.links)
        if self.draw.random() < 0.5:
            link = Link(link.noun, link.right, link.left, link.number)
        return link, self.schema.entities[link.left.parent], self.schema.entities[link.right.parent]

    def number(self, entity: Entity) -> tuple[str, str]:
        """A column of numbers, and its phrase."""
        name = self.draw.choice(entity.numbers)
        return name, words.NUMBERS[name].phrase

    def category(self, entity: Entity) -> str:
        """A column of categories."""
        return self.draw.choice(entity.categories)

    def value(self, entity: Entity, column: str) -> Value:
        """A value that a column has."""
        rows = self._content.execute(
            f"SELECT DISTINCT {column} FROM {entity.table} WHERE {column} IS NOT NULL ORDER BY 1"
        ).fetchall()
        # Not the ends: a bound at one would select nothing or all.
        middle = rows[len(rows) // 5 : len(rows) - len(rows) // 5] or rows
        return self.draw.choice(middle)[0]

    def is_category(self, entity: Entity, alias: str = "", column: str = "") -> Condition:
        """A condition on a category."""
        name = column or self.category(entity)
        value = self.value(entity, name)
        return Condition(f"{alias}{name} = {literal(str(value))}", f"whose {name} is {value}")

    def bound(self, entity: Entity, alias: str = "", column: str = "") -> Condition:
        """A condition on a number."""
        name = column or self.number(entity)[0]
        phrase, value = words.NUMBERS[name].phrase, self.value(entity, name)
        operator, text = self.draw.choice(
            [(">", "greater than"), ("<", "less than"), (">=", "at least"), ("<=", "at most")]
        )
        shown = value if isinstance(value, int | float) else 0
        return Condition(f"{alias}{name} {operator} {literal(shown)}", f"whose {phrase} is {text} {shown}")

    def condition(self, entity: Entity, alias: str = "") -> Condition:
        """A condition of either kind."""
        make = self.is_category if self.draw.random() < 0.5 else self.bound
        return make(entity, alias)
