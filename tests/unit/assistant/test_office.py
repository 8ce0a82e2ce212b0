"""The database of an episode: copied on write, whole or not at all, limited in what it may do."""

import sqlite3
from random import Random

import pytest

from agentgym_envs.assistant import catalogue
from agentgym_envs.assistant.calls import run_tool
from agentgym_envs.assistant.content import generated
from agentgym_envs.assistant.database import Office
from agentgym_envs.assistant.database.image import Image
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools import TOOLSET
from agentgym_envs.tooluse import CallError, ToolError


@pytest.fixture(scope="module")
def image() -> Image:
    return catalogue.office(7).image


def test_episodes_of_one_office_do_not_see_each_other(image: Image) -> None:
    one, other = Office(image), Office(image)
    emails: int = one.value("SELECT count(*) FROM email")
    one.write("UPDATE todo SET done = 1 WHERE id <= 50")
    other.write("DELETE FROM email WHERE id = 1")
    assert one.value("SELECT count(*) FROM email") == emails
    assert one.value("SELECT count(*) FROM todo WHERE done = 0 AND id <= 50") == 0
    assert other.value("SELECT count(*) FROM email") == emails - 1
    assert other.value("SELECT count(*) FROM todo WHERE done = 0 AND id <= 50") > 0
    assert Office(image).value("SELECT count(*) FROM email") == emails


def test_a_copy_continues_from_the_same_changes(image: Image) -> None:
    one = Office(image)
    one.write("UPDATE todo SET done = 1 WHERE id = 1")
    other = one.copy()
    other.write("UPDATE todo SET done = 1 WHERE id = 2")
    count = "SELECT count(*) FROM todo WHERE id IN (1, 2) AND done = 1"
    done = Office(image).value(count)
    assert one.value(count) >= max(1, done)
    assert other.value(count) == 2


def test_interleaved_episodes_are_equal_to_the_same_ones_alone() -> None:
    def transcript(number: int, turns: int) -> list[object]:
        return [step(sessions[number], number, turn) for turn in range(turns)]

    def step(session: Session, number: int, turn: int) -> object:
        random = Random(f"{number}/{turn}")
        tool = random.choice(["complete_todo", "delete_todo", "create_todo", "list_todos", "update_project"])
        arguments = {
            "complete_todo": {"todo_id": random.randrange(1, 40)},
            "delete_todo": {"todo_id": random.randrange(1, 40)},
            "create_todo": {"project_id": 1, "title": f"do {number}"},
            "list_todos": {"done": False, "limit": 5},
            "update_project": {"project_id": 2, "is_favorite": bool(turn % 2)},
        }[tool]
        try:
            return run_tool(session, TOOLSET[tool], arguments)
        except ToolError as error:
            return error.message

    sessions = [catalogue.opened(3) for _ in range(20)]
    alone = [transcript(number, 12) for number in range(20)]
    sessions = [catalogue.opened(3) for _ in range(20)]
    together: list[list[object]] = [[] for _ in sessions]
    for turn in range(12):
        for number, session in enumerate(sessions):
            together[number].append(step(session, number, turn))
    assert together == alone


def test_a_tool_that_refuses_leaves_no_trace() -> None:
    session = catalogue.opened(7)
    before = session.office.net_change()
    arguments = {
        "title": "x",
        "start": "2026-03-03T10:00",
        "end": "2026-03-03T11:00",
        "contact_ids": [1, 9_999],
    }
    with pytest.raises(ToolError, match="not_found: there is no contact 9999"):
        run_tool(session, TOOLSET["create_event"], arguments)
    assert session.office.net_change() == before
    assert session.office.value("SELECT count(*) FROM event WHERE title = 'x'") == 0
    assert session.called == []


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH DATABASE ':memory:' AS other",
        "PRAGMA user_version",
        "CREATE TABLE mine(x)",
        "DROP TABLE todo",
        "SELECT load_extension('x')",
        "DELETE FROM _log",
        "VACUUM",
    ],
)
def test_the_connection_reads_and_changes_rows_only(image: Image, sql: str) -> None:
    with pytest.raises(sqlite3.DatabaseError):
        image.connection.execute(sql)


def test_an_episode_changes_a_limited_number_of_rows(image: Image) -> None:
    office = Office(image)
    for number in range(60):
        office.write("INSERT INTO project(name) VALUES (?)", f"project {number}")
    with pytest.raises(CallError, match="60 rows at most") as refused:
        office.write("INSERT INTO project(name) VALUES ('one more')")
    assert refused.value.code == "limit"


def test_equal_seeds_make_equal_offices_and_others_do_not() -> None:
    cities = ("Here", "There")
    assert generated(1, cities) == generated(1, cities)
    assert generated(1, cities) != generated(2, cities)
    assert generated(1, cities).keys() == generated(20_001, cities).keys()


def test_offices_have_the_sizes_and_the_difficulties_of_real_ones() -> None:
    office = Office(catalogue.office(11).image)
    counts = {
        table: office.value(f"SELECT count(*) FROM {table}")
        for table in ("contact", "event", "attendee", "email", "project", "todo", "file", "shop_order")
    }
    assert counts == {
        "contact": 80,
        "event": 120,
        "attendee": 300,
        "email": 300,
        "project": 8,
        "todo": 200,
        "file": 20,
        "shop_order": 24,
    }
    pairs = office.rows("SELECT name FROM contact GROUP BY name HAVING count(DISTINCT team) = 2")
    assert len(pairs) == 4
    assert office.value("SELECT count(*) FROM email WHERE body LIKE '%delete all events%'") > 0
    assert office.value("SELECT count(*) FROM contact WHERE phone IS NULL OR city IS NULL") > 0
    overlapping = (
        "SELECT count(DISTINCT a.id) FROM event a JOIN event b ON a.id != b.id "
        'AND a.start < b."end" AND b.start < a."end"'
    )
    assert office.value(overlapping) >= 6


def test_rows_that_a_deletion_reaches_count_as_changed(image: Image) -> None:
    office = Office(image)
    with pytest.raises(CallError, match="60 rows at most") as refused:
        office.write("DELETE FROM event")
    assert refused.value.code == "limit"


def test_a_call_beyond_the_limit_of_rows_changes_nothing() -> None:
    session = catalogue.opened(7)
    for number in range(59):
        session.office.write("UPDATE project SET name = ? WHERE id = 1", f"project {number}")
    before = session.office.net_change()
    arguments = {"title": "x", "start": "2026-03-03T10:00", "end": "2026-03-03T11:00", "contact_ids": [1]}
    with pytest.raises(CallError, match="60 rows at most"):
        run_tool(session, TOOLSET["create_event"], arguments)
    assert session.office.net_change() == before
