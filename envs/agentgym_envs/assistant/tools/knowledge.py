"""Tools that read knowledge: weather, films and papers."""

from datetime import date
from typing import Any

from agentgym_envs.assistant.clock import TODAY, day
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.calendar import Date
from agentgym_envs.assistant.tools.pages import (
    Id,
    Limit,
    Name,
    Page,
    Search,
    Selection,
    check_date,
    page,
)
from agentgym_envs.tooluse import ToolError, tool

Row = dict[str, Any]
MOST_DAYS = 31


@tool("read")
def get_weather(
    session: Session, city: Name, start: Date, end: Date, country: Name | None = None
) -> list[Row]:
    """Get the weather of at most 31 days: history, or forecast.

    Args:
        city: City.
        start: First day.
        end: Last day.
        country: Country, where several cities have the name.
    """
    days = _days(start, end)
    rows = _rows(
        session,
        "SELECT day, tmin, tmax, tmean, rain, snow, aqi FROM weather_day WHERE city = ? "
        "AND day BETWEEN ? AND ? ORDER BY day",
        _city(session, city, country),
        start,
        end,
    )
    known = {row["day"] for row in rows}
    missing = next((one for one in days if one not in known), None)
    if missing is not None:
        raise ToolError(
            f"no_data: there is no weather of {city[:40]!r} on {missing}",
            argument="start" if missing == start else "end",
        )
    session.saw("weather_day", [(city, row["day"]) for row in rows])
    return [{**row, "kind": "history" if row["day"] <= TODAY else "forecast"} for row in rows]


@tool("read")
def search_movies(
    session: Session,
    query: Name | None = None,
    actor_id: Id | None = None,
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """Search films.

    Args:
        query: Part of the title.
        actor_id: Person who plays in it.
        limit: Items of a page.
        cursor: Next page.
    """
    filters = [
        Search(("title",), query),
        ("id IN (SELECT movie_id FROM movie_cast WHERE person_id = ?)", actor_id),
    ]
    selection = Selection("movie", "id, title, year, vote_average", filters)
    return page(session, selection, limit, cursor, _Facts(session))


@tool("read")
def get_movie(session: Session, movie_id: Id) -> Row:
    """Get a film with its cast.

    Args:
        movie_id: Id of the film.
    """
    movie = _one(session, "movie", movie_id, "movie_id")
    movie["cast"] = _rows(
        session,
        "SELECT person_id, name, character FROM movie_cast JOIN person ON person.id = person_id "
        "WHERE movie_id = ? ORDER BY ord",
        movie_id,
    )
    return movie


@tool("read")
def search_people(session: Session, query: Name, limit: Limit = 10, cursor: str | None = None) -> Page:
    """Search people of films.

    Args:
        query: Part of the name.
        limit: Items of a page.
        cursor: Next page.
    """
    selection = Selection("person", "id, name", [Search(("name",), query)])
    return page(session, selection, limit, cursor, _Facts(session))


@tool("read")
def get_person(session: Session, person_id: Id) -> Row:
    """Get a person of films.

    Args:
        person_id: Id of the person.
    """
    return _one(session, "person", person_id, "person_id")


@tool("read")
def search_papers(
    session: Session,
    query: Name | None = None,
    author: Name | None = None,
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """Search papers.

    Args:
        query: Part of the title.
        author: Name of an author.
        limit: Items of a page.
        cursor: Next page.
    """
    filters = [
        Search(("title",), query),
        ("title IN (SELECT paper FROM authorship WHERE author = ?)", author),
    ]
    selection = Selection("paper", "title, year, venue, n_citation", filters, order="title", key="title")
    return page(session, selection, limit, cursor, _Facts(session))


@tool("read")
def get_paper(session: Session, title: Name) -> Row:
    """Get a paper with its authors.

    Args:
        title: Title, exactly.
    """
    rows = _rows(session, "SELECT title, year, venue, n_citation, doc_type FROM paper WHERE title = ?", title)
    if not rows:
        raise ToolError(f"not_found: there is no paper {title[:60]!r}", argument="title")
    session.saw("paper", [title])
    authors = _rows(session, "SELECT author FROM authorship WHERE paper = ? ORDER BY author", title)
    return {**rows[0], "authors": [row["author"] for row in authors]}


@tool("read")
def get_author(session: Session, name: Name) -> Row:
    """Get an author with the titles of the papers.

    Args:
        name: Name, exactly.
    """
    rows = _rows(session, "SELECT name, org FROM author WHERE name = ?", name)
    if not rows:
        raise ToolError(f"not_found: there is no author {name[:60]!r}", argument="name")
    session.saw("author", [name])
    papers = _rows(session, "SELECT paper FROM authorship WHERE author = ? ORDER BY paper", name)
    return {**rows[0], "papers": [row["paper"] for row in papers]}


def _days(start: str, end: str) -> list[str]:
    """The days of a period. Raises `ToolError` for what is none, and for a long one."""
    check_date(start, "start")
    check_date(end, "end")
    count = (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    if count < 1:
        raise ToolError("end_before_start: the last day is before the first", argument="end")
    if count > MOST_DAYS:
        raise ToolError(f"too_long: {count} days, at most {MOST_DAYS}", argument="end")
    return [day(offset, start) for offset in range(count)]


def _city(session: Session, name: str, country: str | None) -> int:
    sql = "SELECT id, country FROM city WHERE name = ?1 AND (?2 IS NULL OR country = ?2)"
    found = _rows(session, sql, name, country)
    if len(found) == 1:
        return found[0]["id"]
    if not found:
        raise ToolError(f"not_found: there is no city {name[:40]!r}", argument="city")
    countries = [row["country"] for row in found]
    raise ToolError(f"ambiguous: {name!r} is in several countries", argument="country", expected=countries)


def _one(session: Session, table: str, key: int, argument: str) -> Row:
    rows = _rows(session, f"SELECT * FROM {table} WHERE id = ?", key)
    if not rows:
        raise ToolError(f"not_found: there is no {argument.removesuffix('_id')} {key}", argument=argument)
    session.saw(table, [key])
    return rows[0]


class _Facts:
    """The knowledge of a session, read as its office is."""

    def __init__(self, session: Session) -> None:
        self._connection = session.office.knowledge

    def rows(self, sql: str, *values: Any) -> list[Row]:
        cursor = self._connection.execute(sql, values)
        columns = [column[0] for column in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor]

    def value(self, sql: str, *values: Any) -> Any:
        return self._connection.execute(sql, values).fetchone()[0]

    def rows_with(self, part: str, table: str, columns: tuple[str, ...]) -> list[int] | None:
        """None: a query reads all rows, which are few."""


def _rows(session: Session, sql: str, *values: Any) -> list[Row]:
    return _Facts(session).rows(sql, *values)


WEATHER = (get_weather,)
MOVIES = (search_movies, get_movie, search_people, get_person)
PAPERS = (search_papers, get_paper, get_author)
