"""Tables of the knowledge databases.

Dates are `YYYY-MM-DD`. Temperatures are in degrees Celsius, rain in mm, snow in cm, elevations in metres;
`aqi` is the European air quality index of particles up to 2.5 micrometres.
"""

VERSION = 1
"""Version of tables and content; part of every seed."""
NOW = "2026-03-02T09:00"
"""The clock of every world: days up to this one are history, later ones are forecasts."""

CREATE = """
CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL, country_code
    TEXT NOT NULL, lat REAL NOT NULL, lon REAL NOT NULL, elevation INTEGER NOT NULL);
CREATE TABLE weather_day(city INTEGER NOT NULL REFERENCES city, day TEXT NOT NULL, tmin REAL, tmax
    REAL, tmean REAL, rain REAL, snow REAL, aqi INTEGER, PRIMARY KEY(city, day)) WITHOUT ROWID;

CREATE TABLE movie(id INTEGER PRIMARY KEY, title TEXT NOT NULL, year INTEGER NOT NULL, release_date
    TEXT NOT NULL, budget INTEGER, revenue INTEGER, vote_average REAL, overview TEXT);
CREATE TABLE movie_genre(movie_id INTEGER NOT NULL REFERENCES movie, genre_id INTEGER NOT NULL,
    genre TEXT NOT NULL, PRIMARY KEY(movie_id, genre_id)) WITHOUT ROWID;
CREATE TABLE movie_keyword(movie_id INTEGER NOT NULL REFERENCES movie, keyword_id INTEGER NOT NULL,
    keyword TEXT NOT NULL, PRIMARY KEY(movie_id, keyword_id)) WITHOUT ROWID;
CREATE TABLE movie_company(movie_id INTEGER NOT NULL REFERENCES movie, company_id INTEGER NOT NULL,
    company TEXT NOT NULL, country_code TEXT, PRIMARY KEY(movie_id, company_id)) WITHOUT ROWID;
CREATE TABLE movie_country(movie_id INTEGER NOT NULL REFERENCES movie, code TEXT NOT NULL, country
    TEXT NOT NULL, PRIMARY KEY(movie_id, code)) WITHOUT ROWID;
CREATE TABLE movie_title(movie_id INTEGER NOT NULL REFERENCES movie, lang TEXT NOT NULL, title TEXT
    NOT NULL, PRIMARY KEY(movie_id, lang)) WITHOUT ROWID;
CREATE TABLE movie_translation(movie_id INTEGER NOT NULL REFERENCES movie, lang TEXT NOT NULL,
    overview TEXT NOT NULL, PRIMARY KEY(movie_id, lang)) WITHOUT ROWID;
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, birthday TEXT, place_of_birth
    TEXT, biography TEXT, imdb_id TEXT, facebook_id TEXT, instagram_id TEXT, twitter_id TEXT);
CREATE TABLE movie_cast(movie_id INTEGER NOT NULL REFERENCES movie, person_id INTEGER NOT NULL
    REFERENCES person, character TEXT, ord INTEGER NOT NULL, PRIMARY KEY(movie_id, ord)) WITHOUT
    ROWID;
CREATE TABLE movie_crew(movie_id INTEGER NOT NULL REFERENCES movie, person_id INTEGER NOT NULL
    REFERENCES person, job TEXT NOT NULL, ord INTEGER NOT NULL, PRIMARY KEY(movie_id, ord)) WITHOUT
    ROWID;

CREATE TABLE paper(title TEXT PRIMARY KEY, year INTEGER NOT NULL, venue TEXT, n_citation INTEGER NOT
    NULL, doc_type TEXT) WITHOUT ROWID;
CREATE TABLE paper_keyword(paper TEXT NOT NULL REFERENCES paper, keyword TEXT NOT NULL, PRIMARY
    KEY(paper, keyword)) WITHOUT ROWID;
CREATE TABLE author(name TEXT PRIMARY KEY, org TEXT) WITHOUT ROWID;
CREATE TABLE authorship(paper TEXT NOT NULL REFERENCES paper, author TEXT NOT NULL REFERENCES
    author, ord INTEGER NOT NULL, PRIMARY KEY(paper, ord)) WITHOUT ROWID;
CREATE TABLE citation(src TEXT NOT NULL REFERENCES paper, dst TEXT NOT NULL REFERENCES paper,
    PRIMARY KEY(src, dst)) WITHOUT ROWID;
"""

INDEXES = """
CREATE INDEX movie_by_title ON movie(title);
CREATE INDEX cast_by_person ON movie_cast(person_id);
CREATE INDEX crew_by_person ON movie_crew(person_id);
CREATE INDEX authorship_by_author ON authorship(author);
CREATE INDEX citation_by_target ON citation(dst);
"""

TABLES = (
    "meta",
    "city",
    "weather_day",
    "movie",
    "movie_genre",
    "movie_keyword",
    "movie_company",
    "movie_country",
    "movie_title",
    "movie_translation",
    "person",
    "movie_cast",
    "movie_crew",
    "paper",
    "paper_keyword",
    "author",
    "authorship",
    "citation",
)
"""Names of all tables."""
