"""Evidence: whichever tools return the rows on which an answer rests, the answer counts; a guess does not."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentgym_envs.families.environment import FamilyEnvironment
from agentgym_envs.families.movie.tools import MovieState
from agentgym_envs.families.tasks import FamilyTask
from agentgym_envs.families.weather.tools import kilometres
from agentgym_envs.registry import make

KINDS = {
    "weather": {
        "air_quality_index",
        "air_quality_level",
        "closer_or_higher",
        "dates_with_rain",
        "day_of_extreme",
        "days_with",
        "extreme_city",
        "rain_or_not",
    },
    "movie": {"acted_in", "larger_of_two", "number_of_films", "profit", "title_in_language", "vote"},
    "academia": {
        "cites",
        "number_of_citations",
        "number_of_collaborators",
        "older_or_more_cited",
        "same_venue",
    },
    "todo": {
        "completed_or_not",
        "extreme_task",
        "favorite_or_not",
        "fullest_project",
        "number_of_favorites",
        "number_of_tasks",
    },
    "sheet": set[str](),
}
"""Kinds of tasks whose answer could be guessed."""

Ask = Callable[..., Any]


def family(name: str) -> FamilyEnvironment[Any]:
    found = make(name)
    assert isinstance(found, FamilyEnvironment)
    return found


def asker(environment: FamilyEnvironment[Any]) -> Ask:
    def ask(tool: str, /, **arguments: object) -> Any:
        call = json.dumps({"name": tool, "arguments": arguments})
        return json.loads(environment.step(call).observation.text)

    return ask


def outcome(environment: FamilyEnvironment[Any], answer: object) -> tuple[float, str]:
    result = environment.step(json.dumps({"name": "finish", "arguments": {"answer": answer}}))
    return result.reward, result.info["outcome"]


def tasks_of(environment: FamilyEnvironment[Any], kind: str, words: str = "") -> Iterator[FamilyTask]:
    for task in environment.tasks("test"):
        if task.kind == kind and words in task.instruction:
            environment.reset(task, 0)
            yield task


def arguments_of(task: FamilyTask, tool: str) -> list[dict[str, Any]]:
    """Arguments of the expert's calls of a tool."""
    calls = [json.loads(action) for action in task.plan]
    return [call["arguments"] for call in calls if call["name"] == tool]


@pytest.mark.parametrize("name", KINDS)
def test_the_kinds_of_tasks_that_need_evidence(name: str):
    assert {task.kind for task in family(name).tasks("train") if task.evidence} == KINDS[name]


def test_the_papers_that_a_paper_cites_answer_whether_it_cites_one():
    environment = family("academia")
    ask, found = asker(environment), list[str]()
    for task in tasks_of(environment, "cites"):
        (pair,) = arguments_of(task, "paperEdgeCheck")
        ask("loadPaperNet")
        cited = ask("neighbourCheck", graph="PaperNet", node=pair["node1"])
        found.append("yes" if pair["node2"] in cited else "no")
        assert outcome(environment, found[-1]) == (1.0, "success"), task.instruction
    assert min(found.count("yes"), found.count("no")) > 3


def test_the_papers_that_the_other_paper_cites_do_not():
    environment = family("academia")
    task = next(tasks_of(environment, "cites"))
    (pair,) = arguments_of(task, "paperEdgeCheck")
    asker(environment)("loadPaperNet")
    asker(environment)("neighbourCheck", graph="PaperNet", node=pair["node2"])
    assert task.answer is not None
    assert outcome(environment, task.answer.value) == (0.0, "missing_evidence")


@pytest.mark.parametrize("left_out", [0, 1])
@pytest.mark.parametrize("tool", ["authorEdgeCheck", "neighbourCheck"])
def test_shared_co_authors_are_those_of_one_author_who_wrote_with_the_other(tool: str, left_out: int):
    environment = family("academia")
    ask, looked_at = asker(environment), 0
    for task in tasks_of(environment, "number_of_collaborators", "in common"):
        first, second = (call["node"] for call in arguments_of(task, "neighbourCheck"))
        ask("loadAuthorNet")
        others = [one for one in ask("neighbourCheck", graph="AuthorNet", node=second) if one != first]
        shared = 0
        for one in others[left_out:]:
            if tool == "authorEdgeCheck":
                shared += "papers" in ask(tool, node1=one, node2=first)
            else:
                shared += first in ask(tool, graph="AuthorNet", node=one)
        if not others or environment.over or environment.turns >= environment.turns_allowed:
            continue
        looked_at += 1
        assert task.answer is not None
        if left_out:
            assert outcome(environment, task.answer.value) == (0.0, "missing_evidence")
        else:
            assert shared == task.answer.value
            assert outcome(environment, shared) == (1.0, "success")
    assert looked_at > 3


def test_the_films_of_an_actor_answer_whether_he_acted_in_one():
    environment = family("movie")
    ask, found = asker(environment), list[str]()
    for task in tasks_of(environment, "acted_in"):
        name, _, title = task.instruction.removeprefix("Did ").partition(" act in the movie ")
        person = ask("get_search_person", person_name=name)["id"]
        titles = [one["title"] for one in ask("get_person_cast", person_id=str(person))["cast"]]
        if len(titles) == 10 and title.partition("?")[0] not in titles:
            continue  # the list may have been cut
        found.append("yes" if title.partition("?")[0] in titles else "no")
        assert outcome(environment, found[-1]) == (1.0, "success"), task.instruction
    assert min(found.count("yes"), found.count("no")) > 3


def test_a_list_that_was_cut_tells_what_is_in_it_and_nothing_of_the_rest():
    state = MovieState(split="test", world=0)
    ((person, _),) = state.rows(
        "SELECT person_id, count(*) AS films FROM movie_cast GROUP BY 1 ORDER BY films DESC LIMIT 1"
    )
    films = [film for (film,) in state.rows("SELECT movie_id FROM movie_cast WHERE person_id = ?", person)]
    assert len(films) == 13
    assert not any(state.knows(f"acted/{film}/{person}") for film in films)
    state.seen.add(f"cast of person/{person}")
    assert [state.knows(f"acted/{film}/{person}") for film in sorted(films)] == [True] * 10 + [False] * 3
    assert [state.knows(f"released/{film}") for film in sorted(films)] == [True] * 10 + [False] * 3
    state.seen.add(f"cast/{max(films)}")
    assert state.knows(f"acted/{max(films)}/{person}")


def test_release_dates_stand_in_the_lists_of_persons_too():
    environment = family("movie")
    ask, looked_at = asker(environment), 0
    for task in tasks_of(environment, "larger_of_two", "released first"):
        dates = dict[str, str]()
        for call in arguments_of(task, "get_search_movie"):
            film = ask("get_search_movie", movie_name=call["movie_name"])
            director = ask("get_movie_crew", movie_id=film["id"])["crew"][0]["id"]
            worked = ask("get_person_crew", person_id=director)["crew"]
            dates |= {one["title"]: one["release_date"] for one in worked if one["title"] == film["title"]}
        looked_at += 1
        assert len(dates) == 2
        assert outcome(environment, min(dates, key=lambda title: dates[title])) == (1.0, "success")
    assert looked_at > 1


def test_budgets_do_not():
    environment = family("movie")
    task = next(tasks_of(environment, "larger_of_two", "larger budget"))
    for call in arguments_of(task, "get_search_movie"):
        film = asker(environment)("get_search_movie", movie_name=call["movie_name"])
        asker(environment)("get_movie_crew", movie_id=film["id"])
    assert task.answer is not None
    assert outcome(environment, task.answer.value) == (0.0, "missing_evidence")


def positions(ask: Ask, task: FamilyTask) -> dict[str, tuple[float, float]]:
    """Positions of the cities of a goal."""
    found = dict[str, tuple[float, float]]()
    for call in arguments_of(task, "get_latitude_longitude"):
        for one in ask("get_latitude_longitude", name=call["name"])["results"]:
            if f"{one['name']}, {one['country']}" in task.instruction or one["name"] not in found:
                found[one["name"]] = one["latitude"], one["longitude"]
    return found


def test_who_knows_the_positions_can_tell_which_city_is_closer():
    environment = family("weather")
    ask, looked_at = asker(environment), 0
    for task in tasks_of(environment, "closer_or_higher", "closer"):
        looked_at += 1
        *choices, home = positions(ask, task).items()
        answer = min(choices, key=lambda city: kilometres(*city[1], *home[1]))[0]
        assert outcome(environment, answer) == (1.0, "success"), task.instruction
    assert looked_at > 3


def test_two_of_three_positions_and_positions_without_heights_are_no_evidence():
    environment = family("weather")
    for words, seen in (("closer", 2), ("higher", 2)):
        task = next(tasks_of(environment, "closer_or_higher", words))
        for call in arguments_of(task, "get_latitude_longitude")[:seen]:
            asker(environment)("get_latitude_longitude", **call)
        assert task.answer is not None
        assert outcome(environment, task.answer.value) == (0.0, "missing_evidence")


def test_a_snapshot_remembers_the_positions():
    environment, other = family("weather"), family("weather")
    task = next(tasks_of(environment, "closer_or_higher", "closer"))
    before = environment.snapshot()
    positions(asker(environment), task)
    after = environment.snapshot()
    assert task.answer is not None
    for snapshot, reward in ((before, 0.0), (after, 1.0)):
        other.restore(snapshot)
        assert outcome(other, task.answer.value)[0] == reward


@pytest.mark.parametrize("kind", sorted(KINDS["weather"] - {"closer_or_higher"}))
def test_longer_spans_hold_the_days_that_are_asked_about(kind: str):
    environment = family("weather")
    task = next(task for task in tasks_of(environment, kind) if "historical" in " ".join(task.plan))
    *calls, finish = (json.loads(action) for action in task.plan)
    for call in calls:
        if "start_date" in call["arguments"]:
            day = call["arguments"]["start_date"]
            call["arguments"]["start_date"] = f"{day[:8]}01"
        environment.step(json.dumps(call))
    assert environment.step(json.dumps(finish)).reward == 1.0


@pytest.mark.parametrize("kind", sorted(KINDS["todo"]))
def test_who_reads_all_projects_and_tasks_has_the_evidence(kind: str):
    environment = family("todo")
    ask = asker(environment)
    task = next(task for task in tasks_of(environment, kind) if "longest" not in task.instruction)
    for project in reversed(ask("get_projects")):
        ask("get_tasks", project_id=project["id"])
    assert task.answer is not None
    assert outcome(environment, task.answer.value) == (1.0, "success")
