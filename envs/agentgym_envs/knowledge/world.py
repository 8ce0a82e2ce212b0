"""Generation of a world into a database."""

import sqlite3
from collections import defaultdict

from agentgym_envs.knowledge.films import add_films
from agentgym_envs.knowledge.names import words
from agentgym_envs.knowledge.papers import add_papers
from agentgym_envs.knowledge.rows import Draw, Row, Rows
from agentgym_envs.knowledge.tables import CREATE, INDEXES, NOW, VERSION
from agentgym_envs.knowledge.weather import add_weather


def fill(database: sqlite3.Connection, split: str, number: int) -> None:
    """Create the tables of the world `number` of a split in a database, and fill them.

    Raises `ValueError` for an unknown split or a negative number.
    """
    rows = generated(split, number)
    database.executescript(CREATE)
    database.execute("BEGIN")
    for table, content in rows.items():
        places = ", ".join("?" * len(content[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({places})", content)
    database.execute("COMMIT")
    database.executescript(INDEXES)


def generated(split: str, number: int) -> Rows:
    """The rows of a world, from its split and number only."""
    if number < 0:
        raise ValueError(f"worlds are numbered from 0, not {number}")
    own = words(split)
    draw = Draw(f"agentevol.knowledge.{VERSION}.{split}.{number}")
    rows: Rows = defaultdict[str, list[Row]](list)
    owner = f"owner@{draw.pick(own.coined).lower()}.example"
    rows["meta"] = [
        ("now", NOW),
        ("timezone", "UTC"),
        ("owner_email", owner),
        ("schema_version", str(VERSION)),
    ]
    countries = add_weather(rows, draw, own)
    add_films(rows, draw, own, countries)
    add_papers(rows, draw, own)
    return rows
