"""Search for a part of a text: the same rows as SQLite's LIKE finds, whichever rows are read for it."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym_envs.assistant import catalogue
from agentgym_envs.assistant.calls import run_tool
from agentgym_envs.assistant.database.texts import MOST_FOUND, Texts
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools import TOOLSET
from agentgym_envs.assistant.tools.pages import like
from agentgym_envs.tooluse import ToolError

OFFICE = 6
TABLES = {
    "list_todos": ("todo", ("title",)),
    "list_events": ("event", ("title",)),
    "list_orders": ("shop_order", ("item",)),
    "search_contacts": ("contact", ("name", "email")),
    "search_emails": ("email", ("subject", "body")),
    "search_files": ("file", ("name", "body")),
}
"""Tool to its table and the columns that its query searches."""
ALL_EVENTS = {"start": "2000-01-01T00:00", "end": "2999-01-01T00:00"}
TEXT = st.text(st.sampled_from("aAeEkKsSßſİıKéÉ%_\\'\"?\0\n .@"), max_size=4)
WRITES: dict[str, tuple[str, dict[str, Any]]] = {
    "list_todos": ("create_todo", {"project_id": 1, "title": "{}"}),
    "list_events": ("create_event", {"start": "2026-03-03T10:00", "end": "2026-03-03T11:00", "title": "{}"}),
    "list_orders": ("change_address", {"order_id": 1, "address": "{}"}),
    "search_contacts": ("add_contact", {"name": "{}"}),
    "search_emails": ("send_email", {"to": ["one@mail.example"], "subject": "{}", "body": "a%b_c\\d é"}),
    "search_files": ("create_file", {"folder": "work", "name": "{}", "body": "a%b_c\\d é"}),
}
"""Tool to a write of its table."""
DELETES = {"list_todos": "delete_todo", "list_events": "cancel_event", "search_contacts": "delete_contact"}


def scanned(session: Session, name: str, query: str, first: int, limit: int) -> tuple[list[int], int]:
    """Ids of a page and the number of all rows, by a query that reads the table."""
    table, columns = TABLES[name]
    order = {"event": "start, id", "email": "sent_at DESC, id DESC"}.get(table, "id")
    where = " OR ".join(f"{column} LIKE ?1 ESCAPE '\\'" for column in columns)
    rows = session.office.rows(f"SELECT id FROM {table} WHERE {where} ORDER BY {order}", like(query))
    return [row["id"] for row in rows][first : first + limit], len(rows)


def searched(session: Session, name: str, query: str, first: int, limit: int) -> tuple[list[int], int]:
    """The same by the tool."""
    more = ALL_EVENTS if name == "list_events" else {}
    arguments = {"query": query, "limit": limit, "cursor": str(first), **more}
    found = run_tool(session, TOOLSET[name], arguments)
    assert session.sightings[-1] == (TABLES[name][0], tuple(item["id"] for item in found["items"]))
    more_follow = first + limit < found["total"]
    assert found["next_cursor"] == (str(first + limit) if more_follow else None)
    return [item["id"] for item in found["items"]], found["total"]


@st.composite
def queries(draw: st.DrawFn, name: str) -> str:
    """Parts of the office's texts, in another case or with odd characters, and other texts."""
    table, columns = TABLES[name]
    rows = catalogue.opened(OFFICE).office.rows(f"SELECT {', '.join(columns)} FROM {table}")
    text = draw(st.sampled_from([row[column] or "" for row in rows for column in columns]))
    start = draw(st.integers(0, max(0, len(text) - 1)))
    part = text[start : start + draw(st.integers(1, 30))]
    changed = draw(st.sampled_from([part, part.upper(), part.lower(), part.title()]))
    return draw(st.sampled_from([changed, changed + draw(TEXT), draw(TEXT) + changed, draw(TEXT)]))[:200]


@st.composite
def episodes(draw: st.DrawFn) -> list[tuple[str, int, str, str, int, int]]:
    """Turns of two sessions: what is done, by which, with which tool and query, from which row, how many."""
    turns = list[tuple[str, int, str, str, int, int]]()
    for _ in range(draw(st.integers(1, 8))):
        done = draw(st.sampled_from(["search", "search", "search", "write", "delete", "keep", "undo"]))
        name = draw(st.sampled_from(list(TABLES)))
        first, limit = draw(st.sampled_from([0, 0, 1, 3, 400])), draw(st.sampled_from([1, 2, 10, 50]))
        turns.append((done, draw(st.integers(0, 1)), name, draw(queries(name)), first, limit))
    return turns


def changed(session: Session, done: str, name: str, text: str) -> None:
    """Write a row with a text, or delete one."""
    if done == "write":
        tool, arguments = WRITES[name]
        arguments = {key: text or "x" if value == "{}" else value for key, value in arguments.items()}
    elif name in DELETES:
        tool = DELETES[name]
        key = {"delete_todo": "todo_id", "cancel_event": "event_id", "delete_contact": "contact_id"}[tool]
        arguments = {key: 1 + len(text), **({"delete": True} if tool == "cancel_event" else {})}
    else:
        return
    with suppress(ToolError):
        run_tool(session, TOOLSET[tool], arguments)


@settings(max_examples=300, deadline=None)
@given(episodes())
def test_a_search_finds_what_reading_the_table_finds(
    turns: list[tuple[str, int, str, str, int, int]],
) -> None:
    sessions = [catalogue.opened(OFFICE), catalogue.opened(OFFICE)]
    kept = [session.copy() for session in sessions]
    for done, who, name, query, first, limit in turns:
        session = sessions[who]
        if done == "search" and query:
            expected = scanned(session, name, query, first, limit)
            assert searched(session, name, query, first, limit) == expected
        elif done == "keep":
            kept[who] = session.copy()
        elif done == "undo":
            sessions[who] = kept[who].copy()
        else:
            changed(session, done, name, query)


def test_rows_that_an_episode_wrote_are_found_in_it_alone() -> None:
    one, other = catalogue.opened(OFFICE), catalogue.opened(OFFICE)
    assert searched(one, "list_todos", "Zyzzyva", 0, 10) == ([], 0)
    run_tool(one, TOOLSET["create_todo"], {"project_id": 1, "title": "a zYZZYVa"})
    assert searched(one, "list_todos", "Zyzzyva", 0, 10)[1] == 1
    assert searched(other, "list_todos", "Zyzzyva", 0, 10) == ([], 0)


def test_few_rows_are_told_and_many_are_not() -> None:
    office = catalogue.opened(OFFICE).office
    title: str = office.value("SELECT title FROM todo WHERE id = 5")
    assert office.rows_with(title.upper(), "todo", ("title",)) == [
        row["id"] for row in office.rows("SELECT id FROM todo WHERE title = ?", title)
    ]
    assert office.rows_with("e", "todo", ("title",)) is None
    office.write("UPDATE project SET name = 'x' WHERE id = 1")
    assert office.rows_with(title, "todo", ("title",)) is not None
    office.write("UPDATE todo SET done = 1 WHERE id = 1")
    assert office.rows_with(title, "todo", ("title",)) is None


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("a", [1, 3]),
        ("B", [1]),
        ("bc", []),  # two texts
        ("c", [1]),
        ("é", [3]),
        ("É", []),
        ("%", [4]),
        ("", None),
        ("a\0", None),
    ],
)
def test_parts_of_texts(part: str, found: list[int] | None) -> None:
    rows = [(1, "AB", "c"), (2, None, ""), (3, "aaa", "éa"), (4, "%", None)]
    assert Texts(rows).rows_with(part) == found


def test_more_rows_than_are_worth_telling() -> None:
    rows = [(number, "a") for number in range(MOST_FOUND + 1)]
    assert Texts(rows[1:]).rows_with("a") == list(range(1, MOST_FOUND + 1))
    assert Texts(rows).rows_with("a") is None
