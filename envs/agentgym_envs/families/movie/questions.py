"""Questions of `movie`, by the type of their answers."""

from collections.abc import Sequence
from typing import Any

from agentgym_envs.families.drafts import Ask, Draft, Form, best, only
from agentgym_envs.families.movie.subjects import (
    actor,
    crew,
    details,
    director,
    film_id,
    film_number,
    films,
    known,
    person_id,
)
from agentgym_envs.families.states import KnowingState
from agentgym_envs.knowledge.films import LANGUAGES
from agentgym_envs.knowledge.rows import Draw

DATE = "Answer with the date, YYYY-MM-DD."
NAME = "Answer with the name."
YES_OR_NO = "Answer yes or no."
NOT_AVAILABLE = "not available"
JOBS = {"Director": "directed", "Screenplay": "wrote the screenplay of", "Editor": "edited"}
EXTERNAL = {
    "imdb_id": "IMDb",
    "instagram_id": "Instagram",
    "twitter_id": "Twitter",
    "facebook_id": "Facebook",
}


def release_date(scene: KnowingState, draw: Draw) -> Draft:
    """The release date of a film."""
    (title,) = films(scene, draw, 1)
    goal = draw.pick(["When was the movie {} released?", "What is the release date of the movie {}?"])
    return Draft(f"{goal.format(title)} {DATE}", lambda ask: details(ask, title)["release_date"], "date")


def who_made(scene: KnowingState, draw: Draw) -> Draft:
    """The director, writer or editor of a film."""
    (title,), job = films(scene, draw, 1), draw.pick(list(JOBS))
    return Draft(f"Who {JOBS[job]} the movie {title}? {NAME}", lambda ask: crew(ask, title, job)["name"])


def birth_of_maker(scene: KnowingState, draw: Draw) -> Draft:
    """Birthday or birthplace of a film's director or leading actor."""
    (title,), directs = films(scene, draw, 1), draw.random() < 0.5
    column = draw.pick(["birthday", "place_of_birth"])

    def solve(ask: Ask) -> str:
        person = crew(ask, title, "Director") if directs else _part(ask, "cast", title)[0]
        return known(ask("get_person_details", person_id=str(person["id"]))[column])

    who = "director" if directs else "leading actor"
    if column == "birthday":
        return Draft(f"When was the {who} of the movie {title} born? {DATE}", solve, "date")
    return Draft(f"Where was the {who} of the movie {title} born? Answer with the place of birth.", solve)


def birth_of_person(scene: KnowingState, draw: Draw) -> Draft:
    """Birthday or birthplace of a person."""
    name, column = actor(scene, draw), draw.pick(["birthday", "place_of_birth"])
    asked = f"When was {name} born? {DATE}"
    if column == "place_of_birth":
        asked = f"Where was {name} born? Answer with the place of birth."
    return Draft(
        asked,
        lambda ask: known(ask("get_person_details", person_id=person_id(ask, name))[column]),
        "date" if column == "birthday" else "string",
    )


def larger_of_two(scene: KnowingState, draw: Draw) -> Draft:
    """The film of two with the larger budget, revenue or vote, or the earlier one."""
    first, second = films(scene, draw, 2)
    what = draw.pick(["budget", "revenue", "vote_average", "release_date"])

    def solve(ask: Ask) -> str:
        values = {title: known(details(ask, title)[what]) for title in (first, second)}
        return best(values, largest=what != "release_date")

    numbers = [film_number(scene, title) for title in (first, second)]
    rows = tuple(f"{'released' if what == 'release_date' else 'details'}/{number}" for number in numbers)
    asked = {
        "budget": "had the larger budget",
        "revenue": "had the larger revenue",
        "vote_average": "has the higher average vote",
        "release_date": "was released first",
    }[what]
    goal = f"Which movie {asked}: {first} or {second}? Answer with its title."
    return Draft(goal, solve, guessable=True, evidence=rows)


def profit(scene: KnowingState, draw: Draw) -> Draft:
    """Whether a film earned more than it cost."""
    (title,), wanted = films(scene, draw, 1), draw.random() < 0.5

    def solve(ask: Ask) -> str:
        found = details(ask, title)
        earned = known(found["revenue"]) > known(found["budget"])
        only(earned == wanted)
        return "yes" if earned else "no"

    goal = draw.pick(
        ["Did the movie {} make a profit?", "Was the revenue of the movie {} larger than its budget?"]
    )
    return Draft(f"{goal.format(title)} {YES_OR_NO}", solve, "boolean", guessable=True)


def title_in_language(scene: KnowingState, draw: Draw) -> Draft:
    """A film's title in another language, which may not be available."""
    (title,), language = films(scene, draw, 1), draw.pick(LANGUAGES)

    def solve(ask: Ask) -> str:
        listed = ask("get_movie_alternative_titles", movie_id=film_id(ask, title))["titles"]
        found = [one["title"] for one in listed if one["language"] == language]
        return found[0] if found else NOT_AVAILABLE

    goal = f"What is the {language} title of the movie {title}?"
    return Draft(f"{goal} Answer with the title, or with '{NOT_AVAILABLE}'.", solve, guessable=True)


def shared_company(scene: KnowingState, draw: Draw) -> Draft:
    """The only company that produced both of two films."""
    query = (
        "SELECT a.movie_id, b.movie_id FROM movie_company a JOIN movie_company b"
        " ON a.company_id = b.company_id AND a.movie_id < b.movie_id GROUP BY 1, 2"
        " HAVING count(*) = 1 ORDER BY 1, 2"
    )
    pair = draw.pick(scene.rows(query))
    first, second = (scene.rows("SELECT title FROM movie WHERE id = ?", one)[0][0] for one in pair)

    def solve(ask: Ask) -> str:
        one, other = (
            {company["name"] for company in _part(ask, "production_companies", title)}
            for title in (first, second)
        )
        only(len(one & other) == 1)
        return min(one & other)

    return Draft(f"Which company produced both {first} and {second}? {NAME}", solve)


def external_id(scene: KnowingState, draw: Draw) -> Draft:
    """A person's identifier elsewhere."""
    name, column = actor(scene, draw), draw.pick(list(EXTERNAL))
    return Draft(
        f"What is the {EXTERNAL[column]} id of {name}?",
        lambda ask: known(ask("get_person_external_ids", person_id=person_id(ask, name))[column]),
    )


def acted_in(scene: KnowingState, draw: Draw) -> Draft:
    """Whether somebody acted in a film."""
    (title,), wanted = films(scene, draw, 1), draw.random() < 0.5
    casts = scene.rows(
        "SELECT name FROM movie_cast c JOIN movie m ON m.id = movie_id JOIN person p ON"
        " p.id = person_id WHERE title = ? ORDER BY ord",
        title,
    )
    name = draw.pick(casts)[0] if wanted else actor(scene, draw)

    def solve(ask: Ask) -> str:
        acted = name in [one["name"] for one in _part(ask, "cast", title)]
        only(acted == wanted)
        return "yes" if acted else "no"

    ((person,),) = scene.rows("SELECT id FROM person WHERE name = ?", name)
    row = f"acted/{film_number(scene, title)}/{person}"
    goal = f"Did {name} act in the movie {title}? {YES_OR_NO}"
    return Draft(goal, solve, "boolean", guessable=True, evidence=(row,))


def role(scene: KnowingState, draw: Draw) -> Draft:
    """Question for the actor of a character in a film, or the character of an actor."""
    query = (
        "SELECT title, name, character FROM movie_cast c JOIN movie m ON m.id = movie_id JOIN person p ON"
        " p.id = person_id WHERE character IS NOT NULL ORDER BY m.id, ord"
    )
    (title, name, character), backwards = draw.pick(scene.rows(query)), draw.random() < 0.5
    given, wanted = ("name", "character") if backwards else ("character", "name")

    def solve(ask: Ask) -> str:
        known_value = name if backwards else character
        found = [one[wanted] for one in _part(ask, "cast", title) if one[given] == known_value]
        only(len(found) == 1)
        return found[0]

    asked = (
        f"Whom did {name} play in the movie {title}?" if backwards else f"Who played {character} in {title}?"
    )
    return Draft(f"{asked} {NAME}", solve)


def genres(scene: KnowingState, draw: Draw) -> Draft:
    """The genres of a film."""
    (title,) = films(scene, draw, 1)
    return Draft(
        f"What are the genres of the movie {title}? Answer with their names in an array.",
        lambda ask: _names(details(ask, title)["genres"]),
    )


def names_of(scene: KnowingState, draw: Draw) -> Draft:
    """The keywords, companies, countries or cast of a film."""
    (title,) = films(scene, draw, 1)
    part, asked = draw.pick(
        [
            ("keywords", "What are the keywords of the movie {}?"),
            ("production_companies", "Which companies produced the movie {}?"),
            ("production_countries", "In which countries was the movie {} produced?"),
            ("cast", "Who acted in the movie {}?"),
        ]
    )
    return Draft(
        f"{asked.format(title)} Answer with the names in an array.",
        lambda ask: _part(ask, part, title) if part == "keywords" else _names(_part(ask, part, title)),
    )


def films_of(scene: KnowingState, draw: Draw) -> Draft:
    """The films that somebody directed."""
    name = director(scene, draw)

    def solve(ask: Ask) -> list[str]:
        worked = ask("get_person_crew", person_id=person_id(ask, name))["crew"]
        return [one["title"] for one in worked if one["job"] == "Director"]

    return Draft(f"Which movies did {name} direct? Answer with their titles in an array.", solve)


def amount(scene: KnowingState, draw: Draw) -> Draft:
    """Budget, revenue or profit of a film."""
    (title,), what = films(scene, draw, 1), draw.pick(["budget", "revenue", "profit"])

    def solve(ask: Ask) -> int:
        found = details(ask, title)
        budget, revenue = known(found["budget"]), known(found["revenue"])
        only(revenue > budget)
        return {"budget": budget, "revenue": revenue, "profit": revenue - budget}[what]

    noted = " (revenue minus budget)" if what == "profit" else ""
    return Draft(
        f"What was the {what}{noted} of the movie {title}? Answer with an integer.", solve, "integer"
    )


def number_of_films(scene: KnowingState, draw: Draw) -> Draft:
    """The number of films in which somebody acted."""
    name = actor(scene, draw)
    return Draft(
        f"In how many movies did {name} act? Answer with an integer.",
        lambda ask: len(ask("get_person_cast", person_id=person_id(ask, name))["cast"]),
        "integer",
        guessable=True,
    )


def vote(scene: KnowingState, draw: Draw) -> Draft:
    """The average vote of a film, or the mean of two films'."""
    titles = films(scene, draw, draw.randrange(1, 3))
    text = (
        f"of the movie {titles[0]}"
        if len(titles) == 1
        else f"of the movies {titles[0]} and {titles[1]}, in the mean"
    )

    def solve(ask: Ask) -> float:
        return round(sum(details(ask, title)["vote_average"] for title in titles) / len(titles), 2)

    goal = f"What is the average vote {text}? Answer with a number; a difference of up to 0.05 is accepted."
    return Draft(goal, solve, "number", tolerance=0.05, guessable=True)


def _part(ask: Ask, part: str, title: str) -> list[dict[str, Any]]:
    return ask(f"get_movie_{part}", movie_id=film_id(ask, title))[part]


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [row["name"] for row in rows]


FORMS: dict[str, Sequence[Form[KnowingState]]] = {
    "string": (
        release_date,
        who_made,
        who_made,
        birth_of_maker,
        birth_of_maker,
        birth_of_person,
        larger_of_two,
        profit,
        title_in_language,
        shared_company,
        external_id,
        acted_in,
        role,
    ),
    "list": (genres, names_of, films_of),
    "integer": (amount, number_of_films),
    "number": (vote,),
}
