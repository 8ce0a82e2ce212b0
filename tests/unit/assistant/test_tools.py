"""Tools: pages of every list, periods, dates and addresses."""

import json
from typing import Any

import pytest

from agentgym_envs.assistant import catalogue
from agentgym_envs.assistant.calls import run_tool
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools import TOOLSET
from agentgym_envs.tooluse import CallError
from agentgym_envs.tooluse.renderings import mcp_tools

PERIOD = {"start": "2000-01-01T00:00", "end": "2999-01-01T00:00"}
LISTS: dict[str, dict[str, Any]] = {
    "search_contacts": {},
    "list_events": PERIOD,
    "search_emails": {},
    "list_projects": {},
    "list_todos": {},
    "search_files": {},
    "list_orders": {},
    "search_movies": {},
    "search_people": {"query": "a"},
    "search_papers": {},
}
"""Every tool that lists rows of a table, and arguments with which it finds many."""
KEYS = {"search_papers": "title"}
TABLES = {
    "search_movies": "SELECT id FROM movie ORDER BY id",
    "search_people": "SELECT id FROM person WHERE name LIKE '%a%' ORDER BY id",
    "search_papers": "SELECT title FROM paper ORDER BY title",
}


@pytest.fixture
def session() -> Session:
    return catalogue.opened(7)


def called(session: Session, name: str, /, **arguments: Any) -> Any:
    """The result of a call, validated as an agent's is."""
    tool = TOOLSET[name]
    checked: Any = tool.check(arguments, "")
    return run_tool(session, tool, checked)


def refused(session: Session, name: str, /, **arguments: Any) -> CallError:
    """The error of a call."""
    with pytest.raises(CallError) as found:
        called(session, name, **arguments)
    return found.value


def test_there_are_49_tools_and_those_that_list_are_known() -> None:
    assert len(TOOLSET) == 49
    assert {name for name in TOOLSET if name.startswith(("list_", "search_"))} == LISTS.keys()


@pytest.mark.parametrize("name", LISTS)
def test_every_list_takes_a_limit_and_a_cursor_and_returns_a_page(session: Session, name: str) -> None:
    (schema,) = mcp_tools([TOOLSET[name]])
    bounds = schema["inputSchema"]["properties"]["limit"]
    assert (bounds["minimum"], bounds["maximum"], bounds["default"]) == (1, 50, 10)
    assert schema["inputSchema"]["properties"]["cursor"]["type"] == "string"
    assert schema["outputSchema"]["properties"].keys() == {"items", "next_cursor", "total"}
    given = LISTS[name]
    first = called(session, name, **given)
    assert first.keys() == {"items", "next_cursor", "total"}
    assert len(first["items"]) == min(10, first["total"])
    for limit in (0, 51):
        assert refused(session, name, **given, limit=limit).argument == "limit"
    assert refused(session, name, **given, cursor="next").argument == "cursor"


@pytest.mark.parametrize("name", LISTS)
def test_pages_of_a_list_have_all_rows_once_and_each_is_noted_as_read(session: Session, name: str) -> None:
    given, rows, cursor, key = LISTS[name], list[Any](), None, KEYS.get(name, "id")
    while True:
        page = called(session, name, **given, limit=7, **({"cursor": cursor} if cursor else {}))
        keys = [item[key] for item in page["items"]]
        assert session.sightings[-1][1] == tuple(keys)
        rows, cursor = [*rows, *keys], page["next_cursor"]
        assert (cursor is None) == (len(rows) == page["total"])
        if cursor is None:
            break
        assert len(page["items"]) == 7
    assert len(rows) == len(set(rows)) == page["total"] > 7
    if name in TABLES:
        assert rows == [row for (row,) in session.office.knowledge.execute(TABLES[name])]


def test_filters_of_knowledge_are_those_of_its_tables(session: Session) -> None:
    known = session.office.knowledge
    ((person, name),) = known.execute(
        "SELECT person.id, name FROM person JOIN movie_cast ON person_id = person.id "
        "GROUP BY person.id HAVING count(DISTINCT movie_id) > 2 ORDER BY person.id LIMIT 1"
    )
    films = [
        row
        for (row,) in known.execute(
            "SELECT DISTINCT movie_id FROM movie_cast WHERE person_id = ? ORDER BY movie_id", (person,)
        )
    ]
    found = called(session, "search_movies", actor_id=person, limit=2)
    assert [item["id"] for item in found["items"]] == films[:2]
    assert (found["total"], found["next_cursor"]) == (len(films), "2")
    found = called(session, "search_people", query=name.upper())
    assert person in [item["id"] for item in found["items"]]
    ((author, paper),) = known.execute("SELECT author, min(paper) FROM authorship")
    titles = [item["title"] for item in called(session, "search_papers", author=author, limit=50)["items"]]
    assert paper in titles
    narrow = called(session, "search_papers", author=author, query=paper.lower())
    assert [item["title"] for item in narrow["items"]] == [paper]
    assert called(session, "search_movies", query="100%") == {"items": [], "next_cursor": None, "total": 0}


@pytest.mark.parametrize(
    ("start", "end", "message", "argument"),
    [
        ("2026-01-30", "2026-03-02", "too_long: 32 days, at most 31", "end"),
        ("2026-03-19", "2026-04-19", "too_long: 32 days, at most 31", "end"),
        ("2027-01-01", "9999-12-31", "too_long: ", "end"),
        ("2026-03-02", "2026-03-01", "end_before_start: ", "end"),
        ("2026-03-02", "2026-3-3", "bad_date: ", "end"),
        ("2026-03-19", "2026-03-21", "no_data: there is no weather of {} on 2026-03-21", "end"),
        ("2026-03-21", "2026-03-21", "no_data: there is no weather of {} on 2026-03-21", "start"),
        ("2025-01-31", "2025-02-02", "no_data: there is no weather of {} on 2025-01-31", "start"),
        ("9999-12-31", "9999-12-31", "no_data: there is no weather of {} on 9999-12-31", "start"),
    ],
)
def test_periods_of_the_weather(session: Session, start: str, end: str, message: str, argument: str) -> None:
    (city,) = session.office.knowledge.execute(
        "SELECT name FROM city GROUP BY name HAVING count(*) = 1 ORDER BY name"
    ).fetchone()
    error = refused(session, "get_weather", city=city, start=start, end=end)
    assert error.code == "tool_error"
    assert error.message.startswith(message.format(repr(city)))
    assert error.argument == argument
    assert session.sightings == []


def test_the_weather_of_31_days(session: Session) -> None:
    (city,) = session.office.knowledge.execute(
        "SELECT name FROM city GROUP BY name HAVING count(*) = 1 ORDER BY name"
    ).fetchone()
    rows = called(session, "get_weather", city=city, start="2026-01-31", end="2026-03-02")
    assert len(rows) == 31
    assert {row["kind"] for row in rows} == {"history"}
    assert called(session, "get_weather", city=city, start="2026-03-03", end="2026-03-03")[0]["kind"] == (
        "forecast"
    )


@pytest.mark.parametrize("text", ["today", "2026-3-2", "2026-03-02 09:00", "2026-02-30", "2026-03-02T9", ""])
@pytest.mark.parametrize("argument", ["since", "until"])
def test_times_of_mails_are_checked(session: Session, argument: str, text: str) -> None:
    error = refused(session, "search_emails", **{argument: text})
    assert (error.code, error.argument) == ("tool_error", argument)
    assert error.expected == "YYYY-MM-DD or YYYY-MM-DDTHH:MM"


def test_mails_of_a_day_are_those_since_it_and_until_it(session: Session) -> None:
    sent = "SELECT substr(sent_at, 1, 10) AS day, count(*) AS mails FROM email GROUP BY day"
    day, count = max(session.office.rows(sent), key=lambda one: one["mails"]).values()
    assert called(session, "search_emails", since=day, until=day)["total"] == count > 1
    times = {"since": f"{day}T00:00", "until": f"{day}T23:59"}
    assert called(session, "search_emails", **times)["total"] == count
    newest = called(session, "search_emails", since=day, until=day, limit=1)["items"][0]["sent_at"]
    assert called(session, "search_emails", since=newest, until=newest)["total"] >= 1
    assert called(session, "search_emails", since=f"{day}T23:59", until=f"{day}T00:00")["total"] == 0


def test_free_slots_at_the_end_of_the_calendar(session: Session) -> None:
    last = {"contact_ids": [1], "date": "9999-12-31", "day_end": "23:59"}
    free = [{"start": "9999-12-31T08:00", "end": "9999-12-31T23:59"}]
    assert called(session, "find_free_slots", **last, duration_min=600) == free
    assert called(session, "find_free_slots", **last, duration_min=30, day_start="23:40") == []
    times = {"start": "9999-12-31T08:00", "end": "9999-12-31T23:20"}
    called(session, "create_event", title="last", **times, contact_ids=[1])
    left = {"start": "9999-12-31T23:20", "end": "9999-12-31T23:59"}
    assert called(session, "find_free_slots", **last, duration_min=39) == [left]
    assert called(session, "find_free_slots", **last, duration_min=40) == []
    for bad in ("10000-01-01", "9999-12-32", "0000-01-01"):
        error = refused(session, "find_free_slots", contact_ids=[1], date=bad, duration_min=30)
        assert (error.argument, error.expected) == ("date", "YYYY-MM-DD")


def test_an_address_is_the_same_in_any_case(session: Session) -> None:
    one, other = (row["id"] for row in session.office.rows("SELECT id FROM contact WHERE email > '' LIMIT 2"))
    taken: str = session.office.value("SELECT email FROM contact WHERE id = ?", one)
    for email in (taken, taken.upper(), taken.title()):
        for name, given in (
            ("add_contact", {"name": "Somebody", "email": email}),
            ("update_contact", {"contact_id": other, "fields": {"email": email}}),
        ):
            error = refused(session, name, **given)
            assert (error.code, error.argument) == ("tool_error", "email")
            assert error.message.startswith("duplicate_email: ")
    assert not session.office.net_change()
    assert called(session, "update_contact", contact_id=one, fields={"email": taken.upper()})
    called(session, "add_contact", name="One", email="STRASSE@mail.example")
    assert refused(session, "add_contact", name="Two", email="straße@mail.example").argument == "email"
    called(session, "add_contact", name="Two", email="strase@mail.example")
    called(session, "add_contact", name="Three")
    called(session, "add_contact", name="Four")  # no address is no duplicate


def test_questions_beyond_the_third_are_a_limit(session: Session) -> None:
    for _ in range(3):
        called(session, "ask_user", question="which?")
    error = refused(session, "ask_user", question="which?")
    assert (error.code, error.argument) == ("limit", "question")
    assert json.dumps(error.as_json())
