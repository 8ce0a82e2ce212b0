"""Knowledge databases: content, determinism, and that they can only be read."""

import hashlib
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentgym_envs import knowledge
from agentgym_envs.knowledge.names import words
from agentgym_envs.knowledge.tables import TABLES

WORLD = ("train", 0)
NAMES = (
    "city.name",
    "city.country",
    "person.name",
    "movie.title",
    "movie_title.title",
    "movie_company.company",
)
NAMES_OF_PAPERS = ("paper.title", "paper.venue", "author.name", "author.org")


def rows(query: str, world: tuple[str, int] = WORLD) -> list[tuple[object, ...]]:
    return knowledge.connection(*world).execute(query).fetchall()


def digest(world: tuple[str, int]) -> str:
    content = [rows(f"SELECT * FROM {table} ORDER BY 1, 2", world) for table in TABLES if table != "meta"]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def coined_in(world: tuple[str, int]) -> set[str]:
    """Invented words in the names of a world: those that some split has."""
    found = set[str]()
    for name in (*NAMES, *NAMES_OF_PAPERS):
        table, _, column = name.partition(".")
        for (text,) in rows(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL", world):
            found |= set(re.findall(r"\w+", str(text)))
    return found & EVERY_WORD


EVERY_WORD = {word for split in knowledge.SPLITS for kind in vars(words(split)).values() for word in kind}


def test_a_world_is_the_same_in_every_version_of_python():
    assert digest(("train", 0)) == "54c8ffdcb492e763"


def test_other_numbers_and_splits_are_other_worlds():
    assert len({digest((split, number)) for split in ("train", "test") for number in (0, 1)}) == 4


def test_a_world_is_the_same_in_every_thread_and_each_has_its_own_connection():
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: (digest(WORLD), id(knowledge.connection(*WORLD))), range(4)))
    assert {one for one, _ in found} == {digest(WORLD)}
    assert id(knowledge.connection(*WORLD)) not in {other for _, other in found}


def test_a_filled_database_has_the_same_rows():
    database = sqlite3.connect(":memory:", isolation_level=None)
    knowledge.fill(database, *WORLD)
    assert database.execute("SELECT * FROM movie").fetchall() == rows("SELECT * FROM movie")
    database.close()


def test_a_connection_is_kept_until_many_others_were_used():
    first = knowledge.connection("valid", 0)
    assert knowledge.connection("valid", 0) is first


@pytest.mark.parametrize(
    ("table", "count"),
    [("city", 12), ("movie", 300), ("movie_cast", 900), ("paper", 400), ("weather_day", 12 * 128)],
)
def test_default_sizes(table: str, count: int):
    assert rows(f"SELECT count(*) FROM {table}") == [(count,)]


def test_every_film_has_a_cast_and_one_director():
    assert rows("SELECT count(DISTINCT movie_id) FROM movie_cast") == [(300,)]
    assert rows("SELECT count(*) FROM movie_crew WHERE job = 'Director'") == [(300,)]


def test_weather_has_history_and_forecasts_around_the_clock_and_the_same_days_of_last_year():
    assert rows("SELECT v FROM meta WHERE k = 'now'") == [("2026-03-02T09:00",)]
    assert rows("SELECT min(day), max(day) FROM weather_day WHERE day > '2025-06'") == [
        ("2025-12-31", "2026-03-20")
    ]
    assert rows("SELECT min(day), max(day) FROM weather_day WHERE day < '2025-06'") == [
        ("2025-02-01", "2025-03-20")
    ]
    assert rows("SELECT count(*) FROM weather_day WHERE NOT (tmin < tmean AND tmean < tmax)") == [(0,)]
    assert rows("SELECT count(*) FROM weather_day WHERE rain < 0 OR snow < 0") == [(0,)]


def test_cities_are_far_apart_and_homonyms_lie_in_different_countries():
    pairs = "FROM city a JOIN city b ON a.id < b.id"
    near = f"SELECT a.name {pairs} WHERE abs(a.lat - b.lat) < 3 AND abs(a.lon - b.lon) < 3"
    assert rows(near) == []
    assert (
        rows(f"SELECT a.country = b.country {pairs} AND a.name = b.name") == [(0,)] * 4
    )  # a name of two cities, and one of three


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM person WHERE birthday IS NULL",
        "SELECT count(*) FROM movie WHERE budget IS NULL",
        "SELECT count(*) FROM weather_day WHERE aqi IS NULL",
        "SELECT count(*) FROM paper WHERE venue IS NULL",
        "SELECT count(*) FROM person WHERE length(name) < length(CAST(name AS BLOB))",
        "SELECT count(*) FROM (SELECT 1 FROM movie GROUP BY vote_average HAVING count(*) > 1)",
        "SELECT count(*) FROM (SELECT 1 FROM paper GROUP BY n_citation, year HAVING count(*) > 1)",
        "SELECT count(*) FROM movie a JOIN movie b ON b.title LIKE a.title || ' %'",
    ],
)
def test_there_are_missing_values_accents_ties_and_titles_within_titles(query: str):
    ((count,),) = knowledge.connection(*WORLD).execute(query).fetchall()
    assert count > 0


def test_foreign_keys_point_to_rows():
    database = sqlite3.connect(":memory:", isolation_level=None)
    knowledge.fill(database, *WORLD)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()


@pytest.mark.parametrize("split", knowledge.SPLITS)
def test_all_invented_words_of_a_world_belong_to_its_split(split: str):
    found = coined_in((split, 0))
    assert len(found) > 500
    assert {knowledge.split_of(word) for word in found} == {split}


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO city VALUES (99, 'x', 'x', 'x', 0, 0, 0)",
        "UPDATE movie SET title = 'x'",
        "DELETE FROM paper",
        "DROP TABLE paper",
        "CREATE TABLE other(x)",
        "CREATE TEMP TABLE other(x)",
        "PRAGMA query_only = OFF",
        "ATTACH DATABASE ':memory:' AS other",
        "BEGIN",
        "VACUUM",
        "SELECT load_extension('x')",
        "SELECT randomblob(10)",
        "SELECT random()",
        "SELECT * FROM pragma_table_info('city')",
    ],
)
def test_a_connection_refuses_all_but_reading(statement: str):
    with pytest.raises(sqlite3.DatabaseError):
        knowledge.connection(*WORLD).execute(statement)
    assert rows("SELECT count(*) FROM paper") == [(400,)]


@pytest.mark.parametrize(("split", "number"), [("dev", 0), ("train", -1)])
def test_an_unknown_split_or_number_is_refused(split: str, number: int):
    with pytest.raises(ValueError, match=r"split|numbered"):
        knowledge.connection(split, number)
