"""Tools of `movie`, and its answers computed from the tables."""

import json
from typing import Any

import pytest

from agentgym_envs import knowledge
from agentgym_envs.families.movie import Movie
from agentgym_envs.families.tasks import FamilyTask

NOT_FOUND = "Error: The resource you requested could not be found."


@pytest.fixture
def environment() -> Movie:
    made = Movie()
    made.reset(made.task("0"), 0)
    made.state.split, made.state.world = "train", 0
    return made


def ask(environment: Movie, tool: str, **arguments: object) -> Any:
    return json.loads(environment.step(json.dumps({"name": tool, "arguments": arguments})).observation.text)


def table(query: str, *values: object, world: tuple[str, int] = ("train", 0)) -> list[Any]:
    return knowledge.connection(*world).execute(query, values).fetchall()


def test_a_title_that_is_part_of_another_is_found_first(environment: Movie):
    ((title, longer),) = table(
        "SELECT a.title, b.title FROM movie a JOIN movie b ON b.title = a.title || ' II' ORDER BY 1 LIMIT 1"
    )
    assert ask(environment, "get_search_movie", movie_name=title)["title"] == title
    assert ask(environment, "get_search_movie", movie_name=title.lower())["title"] == title
    assert ask(environment, "get_search_movie", movie_name=longer[1:].upper())["title"] == longer
    assert list(ask(environment, "get_search_movie", movie_name=title)) == ["id", "overview", "title"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_search_movie", {"movie_name": "no such film"}),
        ("get_search_movie", {"movie_name": ""}),
        ("get_search_person", {"person_name": "%"}),
        ("get_movie_details", {"movie_id": "1"}),
        ("get_movie_details", {"movie_id": "1001; DROP TABLE movie"}),
        ("get_movie_cast", {"movie_id": "-1"}),
        ("get_movie_keywords", {"movie_id": "١٠٠١"}),
        ("get_person_cast", {"person_id": 10**30}),
        ("get_person_external_ids", {"person_id": ""}),
    ],
)
def test_what_is_not_there_cannot_be_found(environment: Movie, tool: str, arguments: dict[str, Any]):
    assert ask(environment, tool, **arguments)["error"]["message"] == NOT_FOUND


def test_identifiers_are_strings_in_calls_and_integers_in_results(environment: Movie):
    title = table("SELECT title FROM movie WHERE id = 1001")[0][0]
    assert ask(environment, "get_search_movie", movie_name=title)["id"] == 1001
    assert ask(environment, "get_movie_details", movie_id="1001") == ask(
        environment, "get_movie_details", movie_id=1001
    )


def test_details_and_lists(environment: Movie):
    details = ask(environment, "get_movie_details", movie_id="1001")
    assert list(details) == ["budget", "genres", "revenue", "vote_average", "release_date"]
    assert [set(one) for one in details["genres"]] == [{"id", "name"}] * len(details["genres"])
    members = {
        "production_companies": {"id", "name", "origin_country"},
        "production_countries": {"iso_3166_1", "name"},
        "cast": {"id", "name", "character", "order"},
        "crew": {"id", "name", "job"},
    }
    for part, names in members.items():
        found = ask(environment, f"get_movie_{part}", movie_id="1001")
        assert list(found) == [part]
        assert all(set(one) == names for one in found[part])
    assert ask(environment, "get_movie_keywords", movie_id="1001")["keywords"] == [
        word
        for (word,) in table("SELECT keyword FROM movie_keyword WHERE movie_id = 1001 ORDER BY keyword_id")
    ]
    assert list(ask(environment, "get_movie_alternative_titles", movie_id="1001")) == ["id", "titles"]
    assert list(ask(environment, "get_movie_translation", movie_id="1001")) == ["id", "translations"]


def test_people(environment: Movie):
    name = table("SELECT name FROM person WHERE id = 50001")[0][0]
    assert ask(environment, "get_search_person", person_name=name) == {"id": 50001, "name": name}
    details = ask(environment, "get_person_details", person_id="50001")
    assert list(details) == ["biography", "birthday", "place_of_birth"]
    assert list(ask(environment, "get_person_external_ids", person_id="50001")) == [
        "imdb_id",
        "facebook_id",
        "instagram_id",
        "twitter_id",
    ]


def test_lists_have_ten_items_at_most(environment: Movie):
    for person, count in table("SELECT person_id, count(*) FROM movie_crew GROUP BY 1"):
        found = ask(rested(environment), "get_person_crew", person_id=person)["crew"]
        assert len(found) == min(count, 10)


def rested(environment: Movie) -> Movie:
    """The environment with all turns left."""
    environment.turns = 0
    return environment


ANSWERS = {
    "release_date": "SELECT release_date FROM movie WHERE title = ?",
    "who_made": "SELECT name FROM movie m JOIN movie_crew c ON c.movie_id = m.id"
    " JOIN person p ON p.id = person_id"
    " WHERE title = ? AND job = ?",
    "title_in_language": "SELECT t.title FROM movie m JOIN movie_title t ON t.movie_id = m.id"
    " WHERE m.title = ? AND lang = ?",
    "genres": "SELECT genre FROM movie JOIN movie_genre ON movie_id = id WHERE title = ?",
}
JOBS = {"Who directed": "Director", "Who wrote": "Screenplay", "Who edited": "Editor"}


def of_tables(task: FamilyTask) -> Any:
    """The answer of a task by one query, from the words of its goal."""
    world = (task.split, task.setting["world"])
    titles = [
        title for (title,) in table("SELECT title FROM movie", world=world) if title in task.instruction
    ]
    title = max(titles, key=len)
    values: list[object] = [title]
    if task.kind == "who_made":
        values.append(next(job for words, job in JOBS.items() if task.instruction.startswith(words)))
    if task.kind == "title_in_language":
        values.append(task.instruction.split()[3])
    found = [value for (value,) in table(ANSWERS[task.kind], *values, world=world)]
    if task.kind == "genres":
        return sorted(found)
    return found[0] if found else "not available"


def test_answers_are_those_of_the_tables():
    looked_at = dict.fromkeys(ANSWERS, 0)
    for task in Movie().tasks("train"):
        if task.kind in ANSWERS:
            looked_at[task.kind] += 1
            assert task.answer is not None
            value = sorted(task.answer.value) if task.kind == "genres" else task.answer.value
            assert value == of_tables(task), task.instruction
    assert min(looked_at.values()) > 3


def test_titles_that_are_not_available_occur_and_can_be_answered():
    values = [
        task.answer.value
        for task in Movie().tasks("train")
        if task.kind == "title_in_language" and task.answer
    ]
    assert 5 < values.count("not available") < len(values) - 5
