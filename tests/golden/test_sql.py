"""Spider's development set and Chinook: what is served, and what policies without skill earn on it.

pytest -m golden tests/golden/test_sql.py -s        prints the figures
"""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agentgym_envs.sql import SQL
from agentgym_envs.sql.comparison.expectation import Expected, expected
from agentgym_envs.sql.comparison.matching import matches
from agentgym_envs.sql.executor.database import Database, Source
from agentgym_envs.sql.imported.importing import import_official
from agentgym_envs.sql.imported.library import ImportedTask, Library, verify
from agentgym_envs.sql.queries.tokens import Token, joined, tokens
from agentgym_envs.sql.variants.mutants import mutants
from agentgym_envs.sql.variants.schema import read_schema
from agentgym_envs.sql.variants.service import CONSTANTS
from agentgym_envs.tooluse.calls import written

pytestmark = [pytest.mark.golden, pytest.mark.slow]

TASKS, SERVED_AT_LEAST = 1034, 800


@pytest.fixture(scope="module")
def spider(shared_data: Path) -> Path:
    folder = shared_data / "sql" / "spider_dev"
    if not folder.is_dir():
        pytest.skip("no Spider among the shared data")
    return folder


@pytest.fixture(scope="module")
def home(spider: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spider")
    report = import_official(spider, folder)
    reasons = Counter(one.reason.split(":")[0] for one in report.refused)
    print(f"\n{report.notes[0]}\n{reasons.most_common()}")  # noqa: T201
    return folder


@pytest.fixture(scope="module")
def library(home: Path) -> Library:
    found = Library.open(home)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def judges(library: Library) -> list[tuple[ImportedTask, list[tuple[Database, Expected]]]]:
    """Served tasks with the databases that judge them."""
    opened = dict[Source, Database]()
    found = list[tuple[ImportedTask, list[tuple[Database, Expected]]]]()
    for task in library.tasks.values():
        sources = [library.source(task, number) for number in task.counting]
        databases = [opened.setdefault(source, source.opened()) for source in sources]
        found.append((task, [(one, expected(one, task.gold)) for one in databases]))
    return found


def right(sql: str, judging: Sequence[tuple[Database, Expected]]) -> bool:
    return all(matches(database.run(sql), allowed) for database, allowed in judging)


def outer_joins(gold: str) -> Iterator[str]:
    """The gold with each of its joins as an outer one."""
    parts = tokens(gold)
    for place, token in enumerate(parts):
        if token.word == "JOIN":
            yield joined([*parts[:place], Token("symbol", "LEFT JOIN", token.depth), *parts[place + 1 :]])


def test_most_tasks_are_served_and_their_mutants_differ(library: Library, home: Path) -> None:
    figures = library.manifest.databases.values()
    assert sum(one.tasks for one in figures) == 972  # all but the 62 of wta_1, which has no rows
    assert len(library.tasks) >= SERVED_AT_LEAST
    assert sum(one.killed for one in figures) >= 0.9 * sum(one.mutants for one in figures)
    assert verify(home) == []
    tests = {task.database for task in library.by_split["imported_test"]}
    assert tests == {"world_1", "concert_singer", "dog_kennels", "car_1"}


def test_the_gold_of_every_served_task_earns_1(home: Path) -> None:
    world = SQL(home=home)
    tasks = [task for split in world.splits if split.startswith("imported") for task in world.tasks(split)]
    earned = 0.0
    for task in tasks:
        world.reset(task, 0)
        earned += world.step(written("submit_sql", sql=task.gold)).reward
    print(f"\ngold: {earned:g} of {len(tasks)}")  # noqa: T201
    assert earned == len(tasks) >= SERVED_AT_LEAST


def test_constant_queries_earn_next_to_nothing(
    judges: list[tuple[ImportedTask, list[tuple[Database, Expected]]]],
) -> None:
    won = {sql: {task.id for task, judging in judges if right(sql, judging)} for sql in CONSTANTS}
    on_base = {sql: {task.id for task, judging in judges if right(sql, judging[:1])} for sql in CONSTANTS}
    stars = sum(right(f'SELECT * FROM "{judging[0][0].tables[0]}"', judging) for _, judging in judges)
    print(f"\nconstants, best: {max(map(len, won.values()))}; any: {len(set().union(*won.values()))}")  # noqa: T201
    print(f"SELECT * of the first table: {stars}")  # noqa: T201
    print(f"any constant, by the base alone: {len(set().union(*on_base.values()))}")  # noqa: T201
    assert max(map(len, won.values())) <= 0.005 * len(judges)
    assert len(set().union(*won.values())) <= 0.01 * len(judges)
    assert stars <= 0.01 * len(judges)
    assert len(set().union(*on_base.values())) > 0.1 * len(judges)  # without variants they would


def test_joins_that_are_said_to_mean_the_same_do(
    spider: Path, judges: list[tuple[ImportedTask, list[tuple[Database, Expected]]]]
) -> None:
    """Mutants that the rule leaves out have the gold's results on all variants."""
    compared = 0
    schemas = {path.stem: read_schema(sqlite3.connect(path)) for path in spider.glob("*.sqlite")}
    for task, judging in judges:
        made = {mutant.sql for mutant in mutants(task.gold, schemas[task.database])}
        left_out = [sql for sql in outer_joins(task.gold) if sql not in made]
        compared += len(left_out)
        assert all(right(sql, judging[1:]) for sql in left_out), task.gold
    print(f"\n{compared} joins compared")  # noqa: T201
    assert compared > 50


def test_the_executor_gives_what_plain_sqlite_gives(spider: Path) -> None:
    tasks = json.loads((spider / "tasks.json").read_text(encoding="utf-8"))
    assert len(tasks) == TASKS
    for task in tasks:
        path = spider / f"{task['db']}.sqlite"
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        plain = connection.execute(task["gold"]).fetchall()
        result = Source(path).opened().run(task["gold"])
        assert list(result.rows) == plain[: len(result.rows)]
        assert result.status == ("ok" if len(plain) <= 1000 else "too_many_rows")
        connection.close()


CHINOOK = [
    "SELECT Name FROM Artist WHERE ArtistId > 200",
    "SELECT Country, count(*) FROM Customer GROUP BY Country ORDER BY count(*) DESC LIMIT 3",
    "SELECT T1.Title FROM Album AS T1 JOIN Artist AS T2 ON T1.ArtistId = T2.ArtistId WHERE T2.Name = 'AC/DC'",
    "SELECT avg(Milliseconds) FROM Track WHERE GenreId = 1",
    "SELECT FirstName FROM Employee WHERE ReportsTo IS NULL",
    "SELECT DISTINCT BillingCity FROM Invoice WHERE Total > 10",
    "SELECT T2.Name, count(*) FROM PlaylistTrack AS T1 JOIN Playlist AS T2 ON T1.PlaylistId = T2.PlaylistId "
    "GROUP BY T2.PlaylistId HAVING count(*) > 100",
]


@pytest.fixture(scope="module")
def chinook(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = shared_data / "sql" / "Chinook_Sqlite.sqlite"
    if not file.is_file():
        pytest.skip("no Chinook among the shared data")
    folder = tmp_path_factory.mktemp("chinook")
    (folder / "Chinook_Sqlite.sqlite").write_bytes(file.read_bytes())
    tasks = [
        {"db": "Chinook_Sqlite", "gold": gold, "query": f"Question {n}?"} for n, gold in enumerate(CHINOOK)
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks), encoding="utf-8")
    return folder


def test_chinook_with_questions_can_be_imported(chinook: Path) -> None:
    report = import_official(chinook, chinook / "home")
    assert report.refused == ()
    assert report.counts == {"imported_train": len(CHINOOK)}
    library = Library.open(chinook / "home")
    assert library is not None
    path = library.source(next(iter(library.tasks.values())), 1).path
    assert path is not None
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
