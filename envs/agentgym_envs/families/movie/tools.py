"""Tools of `movie`. Identifiers are written as strings in calls, and are integers in results."""

from typing import Annotated, Any

from pydantic import Field

from agentgym_envs.families.states import KnowingState, check_valid_actions, finish, named
from agentgym_envs.tooluse import ToolError, Toolset, tool

Name = Annotated[str, Field(max_length=200)]
Id = Annotated[str, Field(max_length=200)] | int
MOST_ITEMS = 10
NOT_FOUND = "Error: The resource you requested could not be found."

LISTS: dict[str, tuple[str, tuple[str, ...], str]] = {
    # tool: columns and table, names in results, key of the rows for the evidence
    "production_companies": (
        "company_id, company, country_code FROM movie_company WHERE movie_id = ? ORDER BY company_id",
        ("id", "name", "origin_country"),
        "the companies that produced a movie",
    ),
    "production_countries": (
        "code, country FROM movie_country WHERE movie_id = ? ORDER BY code",
        ("iso_3166_1", "name"),
        "the countries in which a movie was produced",
    ),
    "cast": (
        "p.id, p.name, c.character, c.ord FROM movie_cast c JOIN person p ON p.id = c.person_id"
        " WHERE c.movie_id = ? ORDER BY c.ord",
        ("id", "name", "character", "order"),
        "the cast of a movie, the leading role first",
    ),
    "crew": (
        "p.id, p.name, c.job FROM movie_crew c JOIN person p ON p.id = c.person_id"
        " WHERE c.movie_id = ? ORDER BY c.ord",
        ("id", "name", "job"),
        "the crew of a movie: director, writers and others",
    ),
    "keywords": (
        "keyword_id, keyword FROM movie_keyword WHERE movie_id = ? ORDER BY keyword_id",
        ("id", "name"),
        "the keywords of a movie",
    ),
    "alternative_titles": (
        "lang, title FROM movie_title WHERE movie_id = ? ORDER BY lang",
        ("language", "title"),
        "the titles of a movie in other languages",
    ),
    "translation": (
        "lang, overview FROM movie_translation WHERE movie_id = ? ORDER BY lang",
        ("language", "overview"),
        "the overviews of a movie in other languages",
    ),
}
WITH_ID = {"alternative_titles": "titles", "translation": "translations"}
"""Names in results of the lists that come with the identifier of the movie."""
ROLES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "cast": (
        "m.id, m.title, c.character, m.release_date FROM movie_cast c JOIN movie m ON m.id = c.movie_id"
        " WHERE c.person_id = ? ORDER BY m.id",
        ("id", "title", "character", "release_date"),
        "the movies in which a person acted",
    ),
    "crew": (
        "m.id, m.title, c.job, m.release_date FROM movie_crew c JOIN movie m ON m.id = c.movie_id"
        " WHERE c.person_id = ? ORDER BY m.id, c.ord",
        ("id", "title", "job", "release_date"),
        "the movies on which a person worked, and the jobs",
    ),
}


class MovieState(KnowingState):
    """The state of an episode. A list tells what is in it, and what is not where it was not cut."""

    def knows(self, row: str) -> bool:
        """As in `EpisodeState`. A release date also stands beside a film in the lists of a person."""
        kind, *numbers = row.split("/")
        if kind == "acted":
            film, person = map(int, numbers)
            return self._tells("cast", film, person) or self._tells("cast of person", person, film)
        if kind == "released":
            return f"details/{numbers[0]}" in self.seen or self._shows(int(numbers[0]))
        return row in self.seen

    def _tells(self, listed: str, number: int, one: int) -> bool:
        """True if a list was returned that tells whether something is in it."""
        if f"{listed}/{number}" not in self.seen:
            return False
        query = LISTS["cast"][0] if listed == "cast" else ROLES["cast"][0]
        members = [row[0] for row in self.rows(f"SELECT {query}", number)]
        return len(members) <= MOST_ITEMS or one in members[:MOST_ITEMS]

    def _shows(self, film: int) -> bool:
        """True if a film stands in a list of a person that was returned."""
        for key in self.seen:
            part, _, person = key.partition(" of person/")
            if person:
                rows = self.rows(f"SELECT {ROLES[part][0]} LIMIT {MOST_ITEMS}", int(person))
                if any(row[0] == film for row in rows):
                    return True
        return False


@tool("read")
def get_search_movie(state: KnowingState, movie_name: Name) -> dict[str, Any]:
    """Search a movie by its name, and get its identifier, overview and title.

    Args:
        movie_name: Name of the movie.
    """
    return named(
        _searched(state, "movie", "title", "overview, title", movie_name), "id", "overview", "title"
    )[0]


@tool("read")
def get_movie_details(state: KnowingState, movie_id: Id) -> dict[str, Any]:
    """Get budget, genres, revenue, average vote and release date of a movie.

    Args:
        movie_id: Identifier of the movie.
    """
    query = "SELECT id, budget, revenue, vote_average, release_date FROM movie WHERE id = ?"
    ((number, *values),) = _found(state, query, _number(movie_id))
    genres = state.rows(
        "SELECT genre_id, genre FROM movie_genre WHERE movie_id = ? ORDER BY genre_id", number
    )
    state.seen.add(f"details/{number}")
    budget, revenue, vote, release = values
    return {
        "budget": budget,
        "genres": named(genres, "id", "name"),
        "revenue": revenue,
        "vote_average": vote,
        "release_date": release,
    }


@tool("read")
def get_search_person(state: KnowingState, person_name: Name) -> dict[str, Any]:
    """Search a person by name, and get the identifier and the name.

    Args:
        person_name: Name of the person.
    """
    return named(_searched(state, "person", "name", "name", person_name), "id", "name")[0]


@tool("read")
def get_person_details(state: KnowingState, person_id: Id) -> dict[str, Any]:
    """Get biography, birthday and place of birth of a person.

    Args:
        person_id: Identifier of the person.
    """
    columns = ("biography", "birthday", "place_of_birth")
    rows = _found(state, f"SELECT {', '.join(columns)} FROM person WHERE id = ?", _number(person_id))
    state.seen.add(f"person/{_number(person_id)}")
    return named(rows, *columns)[0]


@tool("read")
def get_person_external_ids(state: KnowingState, person_id: Id) -> dict[str, Any]:
    """Get the identifiers of a person at IMDb, Facebook, Instagram and Twitter.

    Args:
        person_id: Identifier of the person.
    """
    columns = ("imdb_id", "facebook_id", "instagram_id", "twitter_id")
    rows = _found(state, f"SELECT {', '.join(columns)} FROM person WHERE id = ?", _number(person_id))
    state.seen.add(f"ids/{_number(person_id)}")
    return named(rows, *columns)[0]


def _list_of_movie(part: str) -> Any:
    query, columns, what = LISTS[part]

    def get(state: KnowingState, movie_id: Id) -> dict[str, Any]:
        number = _number(movie_id)
        _found(state, "SELECT 1 FROM movie WHERE id = ?", number)
        state.seen.add(f"{part}/{number}")
        rows = named(state.rows(f"SELECT {query} LIMIT {MOST_ITEMS}", number), *columns)
        if part == "keywords":
            return {part: [row["name"] for row in rows]}
        return {"id": number, WITH_ID[part]: rows} if part in WITH_ID else {part: rows}

    get.__doc__ = f"Get {what}, {MOST_ITEMS} at most.\n\nArgs:\n    movie_id: Identifier of the movie."
    return get


def _list_of_person(part: str) -> Any:
    query, columns, what = ROLES[part]

    def get(state: KnowingState, person_id: Id) -> dict[str, Any]:
        number = _number(person_id)
        _found(state, "SELECT 1 FROM person WHERE id = ?", number)
        state.seen.add(f"{part} of person/{number}")
        return {part: named(state.rows(f"SELECT {query} LIMIT {MOST_ITEMS}", number), *columns)}

    get.__doc__ = f"Get {what}, {MOST_ITEMS} at most.\n\nArgs:\n    person_id: Identifier of the person."
    return get


def _searched(state: KnowingState, table: str, name: str, columns: str, text: str) -> list[Any]:
    """The row whose name is the text, or begins with it, or has it; the shortest such name."""
    select = f"SELECT id, {columns} FROM {table}"
    exact = state.rows(f"{select} WHERE {name} = ? ORDER BY id LIMIT 1", text)
    if exact:
        return exact
    wanted = text.strip().casefold()  # SQLite folds letters of ASCII only
    names = [(one.casefold(), key) for key, one in state.rows(f"SELECT id, {name} FROM {table}")]
    similar = [(one.find(wanted), len(one), key) for one, key in names if wanted and wanted in one]
    if not similar:
        raise ToolError(NOT_FOUND)
    return state.rows(f"{select} WHERE id = ?", min(similar)[2])


def _found(state: KnowingState, query: str, value: int) -> list[Any]:
    rows = state.rows(query, value)
    if not rows:
        raise ToolError(NOT_FOUND)
    return rows


def _number(given: str | int) -> int:
    """The identifier as the tables have it; -1, which none has, for another text or a number out of range."""
    text = str(given).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else -1


TOOLS = Toolset(
    [
        get_search_movie,
        get_movie_details,
        *(tool("read", f"get_movie_{part}")(_list_of_movie(part)) for part in LISTS),
        get_search_person,
        get_person_details,
        *(tool("read", f"get_person_{part}")(_list_of_person(part)) for part in ROLES),
        get_person_external_ids,
        check_valid_actions,
        finish,
    ]
)
