"""Films and the people who made them."""

from agentgym_envs.knowledge.names import Words
from agentgym_envs.knowledge.rows import Draw, Rows, listed

MOVIES, CAST, PEOPLE, COMPANIES, KEYWORDS = 300, 900, 260, 24, 60
SEQUELS = 20
FIRST_MOVIE, FIRST_PERSON, FIRST_COMPANY, FIRST_KEYWORD, FIRST_GENRE = 1001, 50_001, 701, 9001, 11

GENRES = (
    "Action",
    "Adventure",
    "Animation",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Family",
    "Fantasy",
    "Horror",
    "Mystery",
    "Romance",
    "Thriller",
    "War",
)
LANGUAGES = ("German", "French", "Spanish", "Italian", "Polish", "Japanese", "Turkish", "Swedish")
SHAPES = (
    "The {noun} of {word}",
    "{word}",
    "{word}'s {noun}",
    "A {noun} for {word}",
    "{word} and the {noun}",
    "Beyond {word} {noun}",
)
NOUNS = listed("Harbour Lantern Winter Garden Orchard Letter Bridge Mirror Promise Shadow Summer Voyage")
SUBJECTS = listed(
    "a retired pilot|two sisters|a young clockmaker|an honest thief|a small choir|a stubborn doctor", "|"
)
DEEDS = listed("finds a lost map|returns home|keeps a secret|builds a boat|loses a bet|waits for spring", "|")
TOPICS = listed("train island rivalry orphan robot library snow heist lighthouse chess piano desert")
MOODS = listed("small-town slow-burn award-winning black-and-white family-friendly")
STUDIOS = ("{} Pictures", "{} Films", "{} Studios", "{} Entertainment")
JOBS = ("Director", "Screenplay", "Original Music Composer", "Editor")


def add_films(rows: Rows, draw: Draw, words: Words, countries: list[tuple[str, str]]) -> None:
    """Add films, people, and which of them worked on which."""
    titles = _titles(draw, words)
    _add_people(rows, draw, words)
    keywords = [f"{mood} {topic}" for mood in MOODS for topic in TOPICS]
    numbered = list(enumerate(keywords, FIRST_KEYWORD))
    companies = [
        (
            FIRST_COMPANY + number,
            draw.pick(STUDIOS).format(name),
            draw.sometimes(0.9, draw.pick(countries)[1]),
        )
        for number, name in enumerate(draw.sample(words.coined, COMPANIES))
    ]
    for movie, title in enumerate(titles, FIRST_MOVIE):
        _add_movie(rows, draw, movie, title)
        _add_titles(rows, draw, movie, title, words)
        rows["movie_genre"] += [
            (movie, FIRST_GENRE + GENRES.index(one), one) for one in draw.several(GENRES, 1, 3)
        ]
        rows["movie_keyword"] += [(movie, *one) for one in draw.several(numbered, 1, 4)]
        rows["movie_company"] += [(movie, *one) for one in draw.several(companies, 1, 3)]
        rows["movie_country"] += [(movie, code, name) for name, code in draw.several(countries, 1, 2)]
        _add_crew(rows, draw, movie)
    _add_cast(rows, draw, words)


def _titles(draw: Draw, words: Words) -> list[str]:
    """Different titles; some are another one's sequel, so that a title may be part of another."""
    coined = draw.sample(words.coined, MOVIES - SEQUELS)
    titles = [draw.pick(SHAPES).format(word=word, noun=draw.pick(NOUNS)) for word in coined]
    return (
        titles
        + [f"{title} {part}" for title, part in zip(titles, ("II", "Returns") * SEQUELS, strict=False)][
            :SEQUELS
        ]
    )


def _date(draw: Draw, year: int) -> str:
    return f"{year}-{1 + int(12 * draw.random()):02}-{1 + int(28 * draw.random()):02}"


def _add_movie(rows: Rows, draw: Draw, movie: int, title: str) -> None:
    year = 1970 + int(56 * draw.random() ** 0.6)
    release = _date(draw, year)
    budget = 500_000 * (1 + int(200 * draw.random() ** 2))
    revenue = int(budget * 3 * draw.random() ** 1.3)
    vote = round(3 + 6 * draw.random(), 1)
    overview = f"{draw.pick(SUBJECTS)} {draw.pick(DEEDS)}.".capitalize()
    known = draw.sometimes(0.95, budget)
    rows["movie"].append(
        (movie, title, year, release, known, revenue if known else None, vote, draw.sometimes(0.97, overview))
    )


def _add_titles(rows: Rows, draw: Draw, movie: int, title: str, words: Words) -> None:
    for language in draw.several(LANGUAGES, 1, 4):
        rows["movie_title"].append((movie, language, f"{draw.pick(words.coined)} {draw.pick(words.coined)}"))
    for language in draw.several(LANGUAGES, 1, 3):
        rows["movie_translation"].append((movie, language, f"{title}: {draw.pick(words.coined).lower()}."))


def _add_people(rows: Rows, draw: Draw, words: Words) -> None:
    given = draw.sample(words.given, 60)
    surnames = draw.sample(words.surnames, PEOPLE)
    for number, surname in enumerate(surnames):
        name = f"{draw.pick(given)} {surname}"
        birthday = _date(draw, 1930 + int(75 * draw.random()))
        place = f"{draw.pick(words.places)}, {draw.pick(words.countries)}"
        handle = surname.lower()
        rows["person"].append(
            (
                FIRST_PERSON + number,
                name,
                draw.sometimes(0.95, birthday),
                draw.sometimes(0.95, place),
                draw.sometimes(0.8, f"{name} began on the stage of a {draw.pick(TOPICS)} company."),
                f"nm{1_000_000 + int(8_999_999 * draw.random())}",
                draw.sometimes(0.4, f"{handle}.official"),
                draw.sometimes(0.6, f"the_{handle}"),
                draw.sometimes(0.5, f"{handle}{int(100 * draw.random())}"),
            )
        )


def _add_crew(rows: Rows, draw: Draw, movie: int) -> None:
    """A director in every film, and others in some; one person may have several jobs."""
    jobs = JOBS[: 1 + int(3 * draw.random())]
    rows["movie_crew"] += [
        (movie, FIRST_PERSON + int(PEOPLE * draw.random()), job, place) for place, job in enumerate(jobs)
    ]


def _add_cast(rows: Rows, draw: Draw, words: Words) -> None:
    left = CAST
    for movie in range(FIRST_MOVIE, FIRST_MOVIE + MOVIES):
        others = FIRST_MOVIE + MOVIES - movie - 1
        size = left if not others else min(left - others, 1 + int(5 * draw.random()), 12)
        size = max(1, size, left - 5 * others)
        left -= size
        people = draw.several(range(PEOPLE), size, size)
        rows["movie_cast"] += [
            (movie, FIRST_PERSON + person, draw.sometimes(0.95, draw.pick(words.given)), place)
            for place, person in enumerate(people)
        ]
