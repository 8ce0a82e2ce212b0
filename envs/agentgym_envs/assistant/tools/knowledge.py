"""Tools that read knowledge: weather, films and papers."""

from typing import Any

from agentgym_envs.assistant.clock import TODAY
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.calendar import Date
from agentgym_envs.assistant.tools.pages import Id, Limit, Name, check_date, like
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
    check_date(start, "start")
    check_date(end, "end")
    rows = _rows(
        session,
        "SELECT day, tmin, tmax, tmean, rain, snow, aqi FROM weather_day WHERE city = ? "
        f"AND day BETWEEN ? AND ? ORDER BY day LIMIT {MOST_DAYS + 1}",
        _city(session, city, country),
        start,
        end,
    )
    if not rows:
        raise ToolError(f"no_data: no weather of {city[:40]!r} from {start} to {end}", argument="start")
    if len(rows) > MOST_DAYS:
        raise ToolError(f"too_long: at most {MOST_DAYS} days", argument="end")
    session.saw("weather_day", [(city, row["day"]) for row in rows])
    return [{**row, "kind": "history" if row["day"] <= TODAY else "forecast"} for row in rows]


@tool("read")
def search_movies(
    session: Session, query: Name | None = None, actor_id: Id | None = None, limit: Limit = 10
) -> list[Row]:
    """Search films.

    Args:
        query: Part of the title.
        actor_id: Person who plays in it.
        limit: Items at most.
    """
    return _found(
        session,
        "movie",
        "SELECT id, title, year, vote_average FROM movie WHERE (?1 IS NULL OR title LIKE ?1 ESCAPE '\\') "
        "AND (?2 IS NULL OR id IN (SELECT movie_id FROM movie_cast WHERE person_id = ?2)) ORDER BY id LIMIT "
        "?3",
        like(query),
        actor_id,
        limit,
    )


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
def search_people(session: Session, query: Name, limit: Limit = 10) -> list[Row]:
    """Search people of films.

    Args:
        query: Part of the name.
        limit: Items at most.
    """
    sql = "SELECT id, name FROM person WHERE name LIKE ? ESCAPE '\\' ORDER BY id LIMIT ?"
    return _found(session, "person", sql, like(query), limit)


@tool("read")
def get_person(session: Session, person_id: Id) -> Row:
    """Get a person of films.

    Args:
        person_id: Id of the person.
    """
    return _one(session, "person", person_id, "person_id")


@tool("read")
def search_papers(
    session: Session, query: Name | None = None, author: Name | None = None, limit: Limit = 10
) -> list[Row]:
    """Search papers.

    Args:
        query: Part of the title.
        author: Name of an author.
        limit: Items at most.
    """
    rows = _rows(
        session,
        "SELECT title, year, venue, n_citation FROM paper WHERE (?1 IS NULL OR title LIKE ?1 ESCAPE '\\') "
        "AND (?2 IS NULL OR title IN (SELECT paper FROM authorship WHERE author = ?2)) ORDER BY title LIMIT "
        "?3",
        like(query),
        author,
        limit,
    )
    session.saw("paper", [row["title"] for row in rows])
    return rows


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


def _city(session: Session, name: str, country: str | None) -> int:
    sql = "SELECT id, country FROM city WHERE name = ?1 AND (?2 IS NULL OR country = ?2)"
    found = _rows(session, sql, name, country)
    if len(found) == 1:
        return found[0]["id"]
    if not found:
        raise ToolError(f"not_found: there is no city {name[:40]!r}", argument="city")
    countries = [row["country"] for row in found]
    raise ToolError(f"ambiguous: {name!r} is in several countries", argument="country", expected=countries)


def _found(session: Session, table: str, sql: str, *values: Any) -> list[Row]:
    rows = _rows(session, sql, *values)
    session.saw(table, [row["id"] for row in rows])
    return rows


def _one(session: Session, table: str, key: int, argument: str) -> Row:
    rows = _rows(session, f"SELECT * FROM {table} WHERE id = ?", key)
    if not rows:
        raise ToolError(f"not_found: there is no {argument.removesuffix('_id')} {key}", argument=argument)
    session.saw(table, [key])
    return rows[0]


def _rows(session: Session, sql: str, *values: Any) -> list[Row]:
    cursor = session.office.knowledge.execute(sql, values)
    columns = [column[0] for column in cursor.description]
    return [dict(zip(columns, row, strict=True)) for row in cursor]


WEATHER = (get_weather,)
MOVIES = (search_movies, get_movie, search_people, get_person)
PAPERS = (search_papers, get_paper, get_author)
