"""Questions of `academia`, by the type of their answers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from agentgym_envs.families.academia.tools import AcademiaState
from agentgym_envs.families.drafts import Ask, Draft, Form, best, only
from agentgym_envs.knowledge.rows import Draw

MOST_JOINT = 8
NAME = "Answer with the name."
INTEGER = "Answer with an integer."
TITLE = "Answer with the title."
YES_OR_NO = "Answer yes or no."
PAIRS = (
    "SELECT a.author, b.author FROM authorship a JOIN authorship b ON a.paper = b.paper"
    " AND a.author < b.author GROUP BY 1, 2 HAVING count(*) BETWEEN ? AND ? ORDER BY 1, 2"
)


def affiliation(scene: AcademiaState, draw: Draw) -> Draft:
    """The organisation of an author."""
    author = _author(scene, draw)

    def solve(ask: Ask) -> str:
        ask("loadAuthorNet")
        found = ask("authorNodeCheck", node=author)["org"]
        only(found is not None)
        return found

    goal = draw.pick(["To which organisation does {} belong?", "What is the affiliation of the author {}?"])
    return Draft(f"{goal.format(author)} {NAME}", solve)


def most_cited_together(scene: AcademiaState, draw: Draw) -> Draft:
    """The most cited paper, or the first, that two authors wrote together."""
    (first, second), cited = draw.pick(scene.rows(PAIRS, 2, MOST_JOINT)), draw.random() < 0.7

    def solve(ask: Ask) -> str:
        papers = _joint(ask, first, second)
        return best({title: node["n_citation" if cited else "year"] for title, node in papers.items()}, cited)

    which = "most cited paper" if cited else "first paper"
    return Draft(f"What is the {which} that {first} and {second} wrote together? {TITLE}", solve)


def most_frequent(scene: AcademiaState, draw: Draw) -> Draft:
    """The most frequent venue or keyword of the papers that two authors wrote together."""
    (first, second), part = draw.pick(scene.rows(PAIRS, 3, MOST_JOINT)), draw.pick(["venue", "keywords"])

    def solve(ask: Ask) -> str:
        papers = _joint(ask, first, second)
        values = [
            value
            for node in papers.values()
            for value in (node[part] if part == "keywords" else [node[part]])
        ]
        counts = Counter(value for value in values if value is not None)
        only(max(counts.values(), default=0) > 1)
        return best(counts)

    what = "keyword" if part == "keywords" else "venue"
    goal = f"What is the most frequent {what} of the papers that {first} and {second} wrote together? {NAME}"
    return Draft(goal, solve)


def older_or_more_cited(scene: AcademiaState, draw: Draw) -> Draft:
    """The older, or the more often cited, of two papers."""
    (first, second), older = _papers(scene, draw, 2), draw.random() < 0.5

    def solve(ask: Ask) -> str:
        ask("loadPaperNet")
        return best(
            {title: _node(ask, title)["year" if older else "n_citation"] for title in (first, second)},
            not older,
        )

    asked = "is older" if older else "is cited more often"
    return Draft(f"Which paper {asked}: {first!r} or {second!r}? {TITLE}", solve, guessable=True)


def same_venue(scene: AcademiaState, draw: Draw) -> Draft:
    """Whether two papers have one venue."""
    wanted = draw.random() < 0.5
    query = (
        "SELECT a.title, b.title FROM paper a JOIN paper b ON a.title < b.title AND a.venue = b.venue"
        " AND a.year BETWEEN b.year - 1 AND b.year + 1 ORDER BY 1, 2"
    )
    first, second = draw.pick(scene.rows(query)) if wanted else _papers(scene, draw, 2)

    def solve(ask: Ask) -> str:
        ask("loadPaperNet")
        one, other = (_node(ask, title)["venue"] for title in (first, second))
        only(None not in (one, other) and (one == other) == wanted)
        return "yes" if one == other else "no"

    goal = f"Were the papers {first!r} and {second!r} published at the same venue? {YES_OR_NO}"
    return Draft(goal, solve, "boolean", guessable=True)


def cites(scene: AcademiaState, draw: Draw) -> Draft:
    """Whether a paper cites another one."""
    wanted = draw.random() < 0.5
    cited = draw.pick(scene.rows("SELECT src, dst FROM citation ORDER BY 1, 2"))
    first, second = cited if wanted else _papers(scene, draw, 2)

    def solve(ask: Ask) -> str:
        ask("loadPaperNet")
        found = ask("paperEdgeCheck", node1=first, node2=second)
        only((found == "yes") == wanted)
        return found

    return Draft(f"Does the paper {first!r} cite {second!r}? {YES_OR_NO}", solve, "boolean", guessable=True)


def fact_of_paper(scene: AcademiaState, draw: Draw) -> Draft:
    """The venue of a paper, or the organisation of its first author."""
    (title,), venue = _papers(scene, draw, 1), draw.random() < 0.5

    def solve(ask: Ask) -> str:
        ask("loadPaperNet")
        node = _node(ask, title)
        if not venue:
            ask("loadAuthorNet")
        found = node["venue"] if venue else ask("authorNodeCheck", node=node["authors"][0])["org"]
        only(found is not None)
        return found

    asked = (
        "At which venue was {!r} published?"
        if venue
        else "To which organisation does the first author of {!r} belong?"
    )
    return Draft(f"{asked.format(title)} {NAME}", solve)


def listed(scene: AcademiaState, draw: Draw) -> Draft:
    """The authors or keywords of a paper."""
    (title,), part = _papers(scene, draw, 1), draw.pick(["authors", "keywords"])

    def solve(ask: Ask) -> list[str]:
        ask("loadPaperNet")
        return _node(ask, title)[part]

    return Draft(f"What are the {part} of the paper {title!r}? Answer with their names in an array.", solve)


def joint_papers(scene: AcademiaState, draw: Draw) -> Draft:
    """The papers that two authors wrote together."""
    first, second = draw.pick(scene.rows(PAIRS, 1, MOST_JOINT))

    def solve(ask: Ask) -> list[str]:
        ask("loadAuthorNet")
        return ask("authorEdgeCheck", node1=first, node2=second)["papers"]

    return Draft(
        f"Which papers did {first} and {second} write together? Answer with their titles in an array.", solve
    )


def shared_collaborators(scene: AcademiaState, draw: Draw) -> Draft:
    """Those who wrote papers with each of two authors: how many, or who."""
    first, second = draw.pick(scene.rows(PAIRS, 1, MOST_JOINT))

    def solve(ask: Ask) -> list[str]:
        ask("loadAuthorNet")
        one, other = (ask("neighbourCheck", graph="AuthorNet", node=name) for name in (first, second))
        return [name for name in one if name in other]

    goal = f"Who wrote papers both with {first} and with {second}? Answer with the names in an array."
    return Draft(goal, solve)


def number_of_citations(scene: AcademiaState, draw: Draw) -> Draft:
    """The citations of a paper, or of the papers that two authors wrote together."""
    (title,), (first, second) = _papers(scene, draw, 1), draw.pick(scene.rows(PAIRS, 2, MOST_JOINT))
    joint = draw.random() < 0.5

    def solve(ask: Ask) -> int:
        if joint:
            return sum(node["n_citation"] for node in _joint(ask, first, second).values())
        ask("loadPaperNet")
        return _node(ask, title)["n_citation"]

    whose = (
        f"do the papers have, together, that {first} and {second} wrote with each other"
        if joint
        else f"does the paper {title!r} have"
    )
    return Draft(f"How many citations (n_citation) {whose}? {INTEGER}", solve, "integer", guessable=True)


def number_of_collaborators(scene: AcademiaState, draw: Draw) -> Draft:
    """The number of co-authors of an author, or of those whom two authors share."""
    author, mutual = _author(scene, draw), draw.random() < 0.5
    first, second = draw.pick(scene.rows(PAIRS, 1, MOST_JOINT))

    def solve(ask: Ask) -> int:
        ask("loadAuthorNet")
        names = (first, second) if mutual else (author,)
        one, *others = (ask("neighbourCheck", graph="AuthorNet", node=name) for name in names)
        return sum(all(name in other for other in others) for name in one)

    whose = f"do {first} and {second} have in common" if mutual else f"does {author} have"
    row = f"shared/{first}/{second}" if mutual else f"AuthorNet/{author}"
    goal = f"How many co-authors {whose}? {INTEGER}"
    return Draft(goal, solve, "integer", guessable=True, evidence=(row,))


def _author(scene: AcademiaState, draw: Draw) -> str:
    return draw.pick(scene.rows("SELECT name FROM author ORDER BY 1"))[0]


def _papers(scene: AcademiaState, draw: Draw, count: int) -> list[str]:
    return [title for (title,) in draw.sample(scene.rows("SELECT title FROM paper ORDER BY 1"), count)]


def _node(ask: Ask, title: str) -> dict[str, Any]:
    return ask("paperNodeCheck", node=title)


def _joint(ask: Ask, first: str, second: str) -> dict[str, dict[str, Any]]:
    """The papers of two authors together."""
    ask("loadAuthorNet")
    titles = ask("authorEdgeCheck", node1=first, node2=second)["papers"]
    ask("loadPaperNet")
    return {title: _node(ask, title) for title in titles}


FORMS: dict[str, Sequence[Form[AcademiaState]]] = {
    "string": (
        affiliation,
        most_cited_together,
        most_cited_together,
        most_frequent,
        older_or_more_cited,
        same_venue,
        cites,
        fact_of_paper,
    ),
    "list": (listed, joint_papers, shared_collaborators),
    "integer": (number_of_citations, number_of_collaborators),
}
