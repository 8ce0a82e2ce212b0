"""Tasks about films and papers, whose result goes into the office."""

from collections.abc import Sequence

from agentgym_envs.assistant.clock import day
from agentgym_envs.assistant.content import names
from agentgym_envs.assistant.tasks.drafts import Draft, Final, Program, Setting, call

Film = tuple[int, str, int, float | None]
"""Id, title, year and mean vote."""


def movie_night(setting: Setting) -> Draft | None:
    """Put the best film of an actor after a year into the calendar, where a film of that year is better."""
    people = setting.known(
        "SELECT person_id FROM movie_cast GROUP BY person_id HAVING count(*) BETWEEN 3 AND 8 "
        "ORDER BY person_id"
    )
    (person,) = setting.random.choice(people)
    years = bounding_years(
        setting.known(
            "SELECT DISTINCT movie.id, title, year, vote_average FROM movie JOIN movie_cast "
            "ON movie_id = movie.id WHERE person_id = ? ORDER BY movie.id",
            person,
        )
    )
    if not years:
        return None
    year = setting.random.choice(years)
    ((name,),) = setting.known("SELECT name FROM person WHERE id = ?", person)
    date = day(setting.random.randrange(1, 20))

    def program() -> Program:
        people = yield call("search_people", query=name)
        who = next(one for one in people["items"] if one["name"] == name)
        found = yield call("search_movies", actor_id=who["id"], limit=20)
        rated = [film for film in found["items"] if film["year"] > year and film["vote_average"] is not None]
        best = max(rated, key=lambda film: film["vote_average"])
        times = {"start": f"{date}T20:00", "end": f"{date}T22:00"}
        yield call("create_event", title=best["title"], **times)
        return Final()

    return Draft(
        setting.say(
            f"Find the film with {name} after {year} that has the highest vote, and put it into the "
            "calendar on "
            f"{date} from 20:00 to 22:00, under its title.",
            f"Film night on {date}, 20:00 to 22:00: the best voted film after {year} in which {name} plays. "
            "Create "
            "the event with the film's title.",
        ),
        program,
        ("movies", "calendar"),
        changes=frozenset(),
    )


def bounding_years(films: Sequence[Film]) -> list[int]:
    """Years after which one film is the best and not the first of all, while a film of the year is better."""
    years = sorted({year for _, _, year, _ in films})
    return [year for year in years if _bounds(films, year)]


def _bounds(films: Sequence[Film], year: int) -> bool:
    later = sorted((film for film in films if film[2] > year), key=_vote, reverse=True)
    if len(later) < 2 or later[0] == films[0]:
        return False
    return max(_vote(film) for film in films if film[2] == year) > _vote(later[0]) > _vote(later[1]) >= 0


def _vote(film: Film) -> float:
    return -1.0 if film[3] is None else film[3]


def coauthor_mail(setting: Setting) -> Draft | None:
    """Add the common author of two papers, who is the first of neither, as a contact."""
    (first,) = setting.random.choice(setting.known("SELECT title FROM paper ORDER BY title"))
    shared = setting.known(
        "SELECT b.paper, a.author FROM authorship a JOIN authorship b ON a.author = b.author "
        "AND a.paper <> b.paper WHERE a.paper = ? AND (SELECT count(*) FROM authorship c JOIN authorship d "
        "ON c.author = d.author WHERE c.paper = a.paper AND d.paper = b.paper) = 1 "
        "AND a.author > (SELECT min(author) FROM authorship WHERE paper = a.paper) "
        "AND a.author > (SELECT min(author) FROM authorship WHERE paper = b.paper) ORDER BY b.paper",
        first,
    )
    if len({author for _, author in shared}) < 2:  # whatever the second paper is, the author is the same
        return None
    second, author = setting.random.choice(shared)
    if setting.rows("SELECT 1 FROM contact WHERE name = ?", author):
        return None
    team = setting.random.choice(names.TEAMS)

    def program() -> Program:
        one = yield call("get_paper", title=first)
        other = yield call("get_paper", title=second)
        common = next(name for name in one["authors"] if name in other["authors"])
        yield call("add_contact", name=common, team=team)
        return Final()

    text = f'the author who wrote both "{first}" and "{second}"'
    return Draft(
        setting.say(f"Add {text} to my contacts, in the team {team}.", f"New contact, team {team}: {text}."),
        program,
        ("papers", "contacts"),
        changes=frozenset(),
    )
