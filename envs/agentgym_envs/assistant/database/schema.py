"""Tables of an office, and what the comparison of changes needs to know of them."""

import sqlite3
from functools import cache
from typing import NamedTuple

VERSION = "1"
"""Version of the tables and of their generated content: a part of the seed."""

DDL = """
CREATE TABLE contact(id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, phone TEXT, team TEXT,
    city TEXT, birthday TEXT);
CREATE TABLE event(id INTEGER PRIMARY KEY, title TEXT NOT NULL, start TEXT NOT NULL, "end" TEXT NOT NULL,
    location TEXT, outdoor INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'confirmed');
CREATE TABLE attendee(event_id INTEGER NOT NULL REFERENCES event ON DELETE CASCADE,
    contact_id INTEGER NOT NULL REFERENCES contact, response TEXT NOT NULL DEFAULT 'none',
    PRIMARY KEY(event_id, contact_id)) WITHOUT ROWID;
CREATE TABLE email(id INTEGER PRIMARY KEY, folder TEXT NOT NULL, sender TEXT NOT NULL, subject TEXT NOT NULL,
    body TEXT NOT NULL, sent_at TEXT NOT NULL, is_read INTEGER NOT NULL DEFAULT 0,
    reply_to INTEGER REFERENCES email);
CREATE TABLE email_to(email_id INTEGER NOT NULL REFERENCES email ON DELETE CASCADE, addr TEXT NOT NULL,
    PRIMARY KEY(email_id, addr)) WITHOUT ROWID;
CREATE TABLE project(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    is_favorite INTEGER NOT NULL DEFAULT 0);
CREATE TABLE todo(id INTEGER PRIMARY KEY, project_id INTEGER NOT NULL REFERENCES project,
    title TEXT NOT NULL, description TEXT, due TEXT, priority INTEGER NOT NULL DEFAULT 1,
    duration_min INTEGER, done INTEGER NOT NULL DEFAULT 0, assignee INTEGER REFERENCES contact);
CREATE TABLE file(id INTEGER PRIMARY KEY, folder TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    UNIQUE(folder, name));
CREATE TABLE shop_order(id INTEGER PRIMARY KEY, item TEXT NOT NULL, quantity INTEGER NOT NULL,
    price REAL NOT NULL, status TEXT NOT NULL, ordered_on TEXT NOT NULL, address TEXT NOT NULL);
CREATE TABLE cell(sheet TEXT NOT NULL, row INTEGER NOT NULL, col INTEGER NOT NULL, value TEXT,
    PRIMARY KEY(sheet, row, col)) WITHOUT ROWID;
CREATE INDEX attendee_contact ON attendee(contact_id);
CREATE INDEX todo_project ON todo(project_id);
CREATE INDEX email_sender ON email(sender);
"""
FREE_TEXT = frozenset(
    {("email", "body"), ("file", "body"), ("todo", "description"), ("event", "title"), ("email", "subject")}
)
"""Columns of new rows that a task compares by its matcher."""
CASEFOLD = frozenset({("contact", "email"), ("email_to", "addr"), ("email", "sender")})
"""Columns whose case has no meaning."""
TIMES = frozenset({("event", "start"), ("event", "end"), ("email", "sent_at")})
"""Columns with a minute."""


class Table(NamedTuple):
    """Facts of a table."""

    name: str
    columns: tuple[str, ...]
    key: tuple[int, ...]
    """Positions of the columns of the primary key."""
    surrogate: bool
    """True if the key is a number without a meaning of its own."""
    references: dict[int, str]
    """Position of a column to the table whose row it names."""


@cache
def tables() -> dict[str, Table]:
    """The tables by name."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(DDL)
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found = {name: _table(connection, name) for name in names}
    connection.close()
    return found


def _table(connection: sqlite3.Connection, name: str) -> Table:
    rows = connection.execute(f"PRAGMA table_info({name})").fetchall()
    columns = tuple(str(row[1]) for row in rows)
    keyed = sorted((row[5], position) for position, row in enumerate(rows) if row[5])
    references = {
        columns.index(row[3]): str(row[2]) for row in connection.execute(f"PRAGMA foreign_key_list({name})")
    }
    return Table(name, columns, tuple(position for _, position in keyed), columns[0] == "id", references)
