"""A small database with questions, as a folder that can be imported."""

import json
import sqlite3
from pathlib import Path

DDL = """
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
CREATE TABLE pet (
    id INTEGER PRIMARY KEY, name TEXT, kind TEXT, age INTEGER, owner_id INTEGER NOT NULL REFERENCES owner (id)
);
"""
OWNERS = [
    (number, f"owner {number}", ("Norrvale", "Estmark", "Suthlin")[number % 3]) for number in range(1, 11)
]
PETS = [
    (number, f"pet {number % 9}", ("cat", "dog", "newt")[number % 3], number % 7, 1 + number * number % 8)
    for number in range(1, 31)
]
MOST = "FROM pet AS p JOIN owner AS o ON p.owner_id = o.id GROUP BY o.id ORDER BY count(*) DESC LIMIT 1"
GOLDS = {
    "SELECT name FROM pet WHERE age > 3": "easy",
    "SELECT count(*) FROM pet WHERE kind = 'cat'": "easy",
    "SELECT DISTINCT kind FROM pet WHERE age < 5": "medium",
    f"SELECT o.name {MOST}": "hard",
    "SELECT name FROM pet WHERE age > 90": "easy",  # empty on the base
    "SELECT 5": "easy",  # the same everywhere
    "SELECT nobody FROM pet": "easy",  # an error
}


def image() -> bytes:
    """The bytes of the database."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(DDL)
    connection.executemany("INSERT INTO owner VALUES (?, ?, ?)", OWNERS)
    connection.executemany("INSERT INTO pet VALUES (?, ?, ?, ?, ?)", PETS)
    connection.commit()
    return connection.serialize()


def write(folder: Path) -> Path:
    """The folder with `tasks.json` and `pets.sqlite`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pets.sqlite").write_bytes(image())
    tasks = [
        {"db": "pets", "gold": gold, "query": f"Question {number}?", "hardness": hardness, "db_tables": {}}
        for number, (gold, hardness) in enumerate(GOLDS.items())
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    return folder
