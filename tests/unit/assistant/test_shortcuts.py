"""Shortcuts: what the first hit does not solve, branches that are equally frequent, and words that matter."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from agentgym_envs.assistant import Assistant, catalogue
from agentgym_envs.assistant.catalogue import Made
from agentgym_envs.assistant.clock import day
from agentgym_envs.assistant.database import Office
from agentgym_envs.assistant.tasks.knowledge import bounding_years

SAMPLE = 80
LEVELS = {
    "rain_move": "conditional",
    "mail_or_todo": "conditional",
    "conflict_resolve": "conditional",
    "free_slot": "multi",
    "movie_night": "multi",
    "workload": "multi",
    "coauthor_mail": "multi",
}
DATE = re.compile(r"\d{4}-\d\d-\d\d")
STARRING = re.compile(r"(?:with|in which) (\S+ \S+) (?:after|plays)")


def places(split: str, template: str, count: int = SAMPLE) -> list[catalogue.Place]:
    """Places of the first tasks of a template; fewer where the split has fewer."""
    names = catalogue.templates(split, LEVELS[template])
    numbers = range(names.index(template), catalogue.SIZES[split], len(names))
    return [catalogue.place(split, LEVELS[template], number) for number in numbers[:count]]


def tasks(split: str, template: str, count: int = SAMPLE) -> Iterator[tuple[Made, Office]]:
    """Tasks of a template as they were made, and the office of each."""
    for place in places(split, template, count):
        made = catalogue.made(place)
        yield made, catalogue.opened(made.office).office


def inserted(made: Made, table: str) -> list[Any]:
    """Rows of a table that a right episode inserts, without their ids."""
    return [row for name, row in made.gold.change.inserted.elements() if name == table]


def changed(made: Made) -> set[int]:
    """Ids of the events that a right episode changes."""
    return {key[0] for table, key in made.gold.change.changed if table == "event"}


@pytest.mark.parametrize(
    ("split", "template"),
    [(split, name) for split in ("train", "test") for name in ("rain_move", "free_slot", "workload")]
    + [("test", "coauthor_mail")],
)
def test_the_first_hit_solves_no_task(split: str, template: str) -> None:
    assistant = Assistant()
    won = list[str]()
    for place in places(split, template):
        task = assistant.task(place.id)
        (actions,) = assistant.shortcuts(task).values()
        assistant.reset(task, seed=0)
        if sum(assistant.step(action).reward for action in actions):
            won.append(task.id)
    assert won == []


def test_nobody_is_free_for_the_whole_length_from_eight_on() -> None:
    starts = [row[1][11:] for made, _ in tasks("train", "free_slot") for row in inserted(made, "event")]
    assert len(starts) == SAMPLE
    assert min(starts) > "08:00"
    assert len(set(starts)) > 3


def test_a_mail_is_as_often_right_as_a_to_do_and_another_day_would_change_it() -> None:
    mails = 0
    for made, office in tasks("train", "mail_or_todo", 2 * SAMPLE):
        found = re.search(r"If (.+) attends an event on (\S+),", made.gold.draft.instruction)
        assert found
        rows = office.rows(
            "SELECT substr(start, 1, 10) AS date FROM event, attendee, contact "
            "WHERE event_id = event.id AND contact_id = contact.id AND name = ?",
            found[1],
        )
        dates = {row["date"] for row in rows}
        assert (found[2] in dates) == bool(inserted(made, "email")) != bool(inserted(made, "todo"))
        assert 0 < len(dates & set(map(day, range(1, 20)))) < 19
        mails += found[2] in dates
    assert 0.4 <= mails / (2 * SAMPLE) <= 0.6


def test_the_earlier_event_is_as_often_cancelled_as_the_later_and_some_have_equally_many_people() -> None:
    earlier, ties = 0, 0
    for made, office in tasks("test", "conflict_resolve"):
        found = re.search(r'"(.+)" and "(.+)" overlap', made.gold.draft.instruction)
        assert found
        first, second = office.rows(
            "SELECT id, (SELECT count(*) FROM attendee WHERE event_id = id) AS people FROM event "
            "WHERE trim(title) IN (?, ?) ORDER BY start",
            found[1],
            found[2],
        )
        fewer = first if first["people"] < second["people"] else second
        assert changed(made) == {fewer["id"]}
        earlier += fewer is first
        ties += first["people"] == second["people"]
    assert 0.4 <= earlier / SAMPLE <= 0.6
    assert 0.05 <= ties / SAMPLE <= 0.4


def test_outdoor_events_of_a_first_or_last_day_move_and_others_stay() -> None:
    for made, office in tasks("train", "rain_move"):
        first, last = DATE.findall(made.gold.draft.instruction)
        rows = office.rows(
            "SELECT id, substr(start, 1, 10) AS date FROM event WHERE outdoor = 1 AND status = 'confirmed' "
            "AND start BETWEEN ? AND ? ORDER BY start, id",
            first,
            day(1, last),
        )
        moved, dates = changed(made), {row["id"]: row["date"] for row in rows}
        assert moved < set(dates)
        assert {first, last} & {dates[one] for one in moved}
        assert moved != {rows[0]["id"]}


@pytest.mark.parametrize("split", ["train", "test"])
def test_without_the_year_or_a_year_earlier_another_film_is_the_best(split: str) -> None:
    for made, office in tasks(split, "movie_night"):
        text = made.gold.draft.instruction
        named, bound = STARRING.search(text), re.search(r"after (\d{4})", text)
        assert named
        assert bound
        films = office.knowledge.execute(
            "SELECT vote_average, title, year FROM movie, movie_cast, person WHERE movie.id = movie_id "
            "AND person.id = person_id AND name = ? AND vote_average IS NOT NULL",
            (named[1],),
        ).fetchall()
        year = int(bound[1])
        ((best, *_),) = inserted(made, "event")
        assert best == max(film for film in films if film[2] > year)[1]
        assert best != max(film for film in films if film[2] > year - 1)[1]
        assert best != max(films)[1]


def test_the_common_author_of_two_papers_is_the_first_of_neither_and_another_paper_has_another() -> None:
    for made, office in tasks("test", "coauthor_mail"):
        first, second = re.findall(r'"([^"]+)"', made.gold.draft.instruction)
        one, other = (authors(office, title) for title in (first, second))
        ((author, *_),) = inserted(made, "contact")
        assert set(one) & set(other) == {author}
        assert author not in (one[0], other[0])
        written = "SELECT count(*) FROM authorship WHERE author = ?"
        counts = [office.knowledge.execute(written, (name,)).fetchone()[0] for name in one[1:]]
        assert sum(count > 1 for count in counts) > 1


def authors(office: Office, title: str) -> list[str]:
    """Authors of a paper in the order in which an agent reads them."""
    rows = office.knowledge.execute("SELECT author FROM authorship WHERE paper = ? ORDER BY author", (title,))
    return [author for (author,) in rows]


def test_a_year_bounds_films_if_one_of_it_is_better_than_the_best_later_one() -> None:
    films = [(1, "a", 2001, 5.0), (2, "b", 2002, 9.0), (3, "c", 2003, 8.0), (4, "d", 2004, 7.0)]
    assert bounding_years(films) == [2002]
    assert bounding_years(films[::-1]) == [2002]
    assert bounding_years([*films, (5, "e", 2005, 8.0)]) == []  # two are the best after 2002
    assert bounding_years([films[2], films[1], films[3]]) == []  # the first of all is the best after 2002
    assert bounding_years([*films, (5, "e", 2005, None)]) == [2002]  # nobody voted
    assert bounding_years([films[1], films[2], (5, "e", 2005, None)]) == []  # there is no choice after 2002
    assert bounding_years([]) == []
