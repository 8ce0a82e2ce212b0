"""Films and people of questions: how they are drawn, and how tools find them."""

from typing import Any

from agentgym_envs.families.drafts import Ask, only
from agentgym_envs.families.states import KnowingState
from agentgym_envs.knowledge.rows import Draw


def films(scene: KnowingState, draw: Draw, count: int) -> list[str]:
    """Titles of different films."""
    rows = scene.rows("SELECT title FROM movie ORDER BY id")
    return [title for (title,) in draw.sample(rows, count)]


def film_number(scene: KnowingState, title: str) -> int:
    """The identifier of a film as the tables have it."""
    ((number,),) = scene.rows("SELECT id FROM movie WHERE title = ?", title)
    return number


def actor(scene: KnowingState, draw: Draw) -> str:
    """Somebody who acted in two or more films, and in fewer than the tools list."""
    query = (
        "SELECT name FROM movie_cast JOIN person ON id = person_id GROUP BY id"
        " HAVING count(*) BETWEEN 2 AND 9 ORDER BY id"
    )
    return draw.pick(scene.rows(query))[0]


def director(scene: KnowingState, draw: Draw) -> str:
    """Somebody who directed two or more films."""
    query = (
        "SELECT name FROM movie_crew JOIN person ON id = person_id GROUP BY id"
        " HAVING sum(job = 'Director') > 1 AND count(*) < 10 ORDER BY id"
    )
    return draw.pick(scene.rows(query))[0]


def film_id(ask: Ask, title: str) -> str:
    """The identifier of a film."""
    found = ask("get_search_movie", movie_name=title)
    only(found["title"] == title)
    return str(found["id"])


def person_id(ask: Ask, name: str) -> str:
    """The identifier of a person."""
    found = ask("get_search_person", person_name=name)
    only(found["name"] == name)
    return str(found["id"])


def details(ask: Ask, title: str) -> dict[str, Any]:
    """The details of a film."""
    return ask("get_movie_details", movie_id=film_id(ask, title))


def crew(ask: Ask, title: str, job: str) -> dict[str, Any]:
    """The only one who had a job in a film."""
    found = [one for one in ask("get_movie_crew", movie_id=film_id(ask, title))["crew"] if one["job"] == job]
    only(len(found) == 1)
    return found[0]


def known(value: Any) -> Any:
    """A value that is not missing; raises `Unsuitable` for None."""
    only(value is not None)
    return value
