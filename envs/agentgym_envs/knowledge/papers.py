"""Papers, their authors, and who cites whom."""

from agentgym_envs.knowledge.names import Words
from agentgym_envs.knowledge.rows import Draw, Rows, listed

PAPERS, AUTHORS, VENUES, GROUPS = 400, 150, 14, 25
METHODS = listed("Sparse|Robust|Adaptive|Incremental|Distributed|Approximate|Bayesian|Online", "|")
AIMS = listed("Planning|Retrieval|Clustering|Scheduling|Parsing|Matching|Sampling|Ranking", "|")
DATA = listed("Noisy Graphs|Event Streams|Large Tables|Sensor Networks|Short Texts|Moving Objects", "|")
KEYWORDS = tuple(f"{method} {aim}".lower() for method in METHODS for aim in AIMS)
VENUE_SHAPES = ("Conference on {} Systems", "Journal of {} Computing", "{} Workshop", "{} Letters")
ORGS = ("University of {}", "{} Institute of Technology", "{} Research", "{} College")
TYPES = ("Conference", "Journal", "Repository")


def add_papers(rows: Rows, draw: Draw, words: Words) -> None:
    """Add authors in groups that write together, papers, and citations of earlier papers."""
    authors = _add_authors(rows, draw, words)
    venues = [draw.pick(VENUE_SHAPES).format(word) for word in draw.sample(words.coined, VENUES)]
    titles = list[str]()
    for word in draw.sample(words.coined, PAPERS):
        title = f"{word}: {draw.pick(METHODS)} {draw.pick(AIMS)} of {draw.pick(DATA)}"
        year = 1995 + len(titles) * 31 // PAPERS
        cited = int(400 * draw.random() ** 4)
        rows["paper"].append((title, year, draw.sometimes(0.97, draw.pick(venues)), cited, draw.pick(TYPES)))
        rows["paper_keyword"] += [(title, one) for one in draw.several(KEYWORDS, 1, 5)]
        group = int(GROUPS * draw.random())
        written = draw.several(authors[6 * group : 6 * group + 8], 1, 4)
        rows["authorship"] += [(title, author, place) for place, author in enumerate(written)]
        if len(titles) > 20:
            rows["citation"] += [(title, other) for other in draw.several(titles, 0, 6)]
        titles.append(title)


def _add_authors(rows: Rows, draw: Draw, words: Words) -> list[str]:
    given = draw.sample(words.given, 50)
    orgs = [draw.pick(ORGS).format(place) for place in draw.sample(words.places, 40)]
    names = [f"{draw.pick(given)} {surname}" for surname in draw.sample(words.surnames, AUTHORS)]
    rows["author"] += [(name, draw.sometimes(0.95, draw.pick(orgs))) for name in names]
    return names
