"""Cities and their weather, day by day."""

import math
from datetime import date, timedelta
from functools import cache

from agentgym_envs.knowledge.names import Words
from agentgym_envs.knowledge.rows import Draw, Rows

CITIES = 12
HOMONYMS = ((0, 9), (1, 10), (1, 11))
"""Pairs of cities, in different countries, of which the second has the first one's name."""
COUNTRIES = 6
PERIODS = ((date(2025, 2, 1), date(2025, 3, 20)), (date(2025, 12, 31), date(2026, 3, 20)))
"""First and last days with weather: some weeks of last year, then history and forecast around the clock."""
NO_READING = 0.02
CELL = 10
"""Cities stand in different cells of so many degrees, apart from each other by a third of that."""


def add_weather(rows: Rows, draw: Draw, words: Words) -> list[tuple[str, str]]:
    """Add cities and their days; the countries, with their codes."""
    countries = _with_codes(draw.sample(words.countries, COUNTRIES))
    names = draw.sample(words.places, CITIES)
    for first, second in HOMONYMS:
        names[second] = names[first]
    cells = draw.sample([(y, x) for y in range(-5, 6) for x in range(-17, 17)], CITIES)
    for number, (name, (y, x)) in enumerate(zip(names, cells, strict=True)):
        country, code = countries[number % COUNTRIES]
        lat = round(CELL * (y + 0.33 + draw.random() / 3), 4)
        lon = round(CELL * (x + 0.33 + draw.random() / 3), 4)
        elevation = int(2200 * draw.random() ** 2)
        rows["city"].append((number + 1, name, country, code, lat, lon, elevation))
        _add_days(rows, draw, number + 1, 27 - abs(lat) * 0.55 - elevation / 200)
    return countries


def _with_codes(countries: list[str]) -> list[tuple[str, str]]:
    """Each country with a code of two letters, which no other has."""
    codes = dict[str, str]()
    for country in countries:
        letters = country.upper()
        choices = [letters[0] + second for second in (*letters[1:], *"QXWZ")]
        codes[next(code for code in choices if code not in codes and code.isascii())] = country
    return [(country, code) for code, country in codes.items()]


@cache
def _days() -> tuple[str, ...]:
    return tuple(
        str(first + timedelta(days)) for first, last in PERIODS for days in range((last - first).days + 1)
    )


def _add_days(rows: Rows, draw: Draw, city: int, usual: float) -> None:
    random, add = draw.random, rows["weather_day"].append
    wetness, dust = 0.25 + 0.4 * random(), 10 + 35 * random()
    drift = 0.0
    for day in _days():
        drift = 0.8 * drift + 5 * (random() - 0.5)
        mean = usual + drift
        low, high = mean - 1.5 - 4 * random(), mean + 1.5 + 5 * random()
        wet = 25 * random() ** 3 if random() < wetness else 0.0
        cold = mean < 1.0
        rain, snow = (0.0, wet * 0.8) if cold else (wet, wet * 0.2 if low < 0 else 0.0)
        aqi = None if random() < NO_READING else math.floor(dust * (0.4 + 2 * random() ** 2))
        add((city, day, round(low, 1), round(high, 1), round(mean, 1), round(rain, 1), round(snow, 2), aqi))
