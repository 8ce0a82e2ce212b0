"""Tools of `weather`, and its answers computed from the tables."""

import json
import re
import sqlite3
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from agentgym_envs import knowledge
from agentgym_envs.families.tasks import FamilyTask
from agentgym_envs.families.weather import Weather
from agentgym_envs.families.weather.tools import kilometres

TODAY = "2026-02-20"


@pytest.fixture
def environment() -> Weather:
    made = Weather()
    made.reset(made.task("0"), 0)
    made.state.today, made.state.split, made.state.world, made.state.city = TODAY, "train", 0, 4
    return made


def ask(environment: Weather, tool: str, **arguments: object) -> Any:
    return json.loads(environment.step(json.dumps({"name": tool, "arguments": arguments})).observation.text)


def refused(environment: Weather, tool: str, **arguments: object) -> str:
    return ask(environment, tool, **arguments)["error"]["message"]


def table(query: str, *values: object) -> list[Any]:
    return knowledge.connection("train", 0).execute(query, values).fetchall()


LAT, LON, ELEVATION = table("SELECT lat, lon, elevation FROM city WHERE id = 4")[0]
PLACE = {"latitude": LAT, "longitude": LON}


def test_where_and_when(environment: Weather):
    assert ask(environment, "get_user_current_date") == TODAY
    assert ask(environment, "get_user_current_location") == table("SELECT name FROM city WHERE id = 4")[0][0]
    assert ask(environment, "get_elevation", **PLACE) == {**PLACE, "elevation": ELEVATION}


def test_a_name_of_three_cities_has_three_positions(environment: Weather):
    ((name,),) = table("SELECT name FROM city GROUP BY name HAVING count(*) = 3")
    results = ask(environment, "get_latitude_longitude", name=f" {name.upper()} ")["results"]
    assert [list(one) for one in results] == [
        ["name", "latitude", "longitude", "country_code", "country"]
    ] * 3
    assert len({one["country_code"] for one in results}) == 3
    assert refused(environment, "get_latitude_longitude", name="Atlantis") == "Error: there is no such city"


@pytest.mark.parametrize(
    ("tool", "columns", "units"),
    [
        (
            "temp",
            {"temperature_2m_max": "tmax", "temperature_2m_min": "tmin", "temperature_2m_mean": "tmean"},
            "°C",
        ),
        ("rain", {"rain_sum": "rain"}, "mm"),
        ("snow", {"snowfall_sum": "snow"}, "cm"),
        ("air_quality_index", {"european_aqi_pm2_5": "aqi"}, "EAQI"),
    ],
)
def test_daily_values(environment: Weather, tool: str, columns: dict[str, str], units: str):
    days = [(date.fromisoformat(TODAY) - timedelta(back)).isoformat() for back in (3, 2, 1)]
    found = ask(environment, f"get_historical_{tool}", **PLACE, start_date=days[0], end_date=days[-1])
    assert found["daily_units"] == {"time": "iso8601", **dict.fromkeys(columns, units)}
    assert found["daily"]["time"] == days
    for name, column in columns.items():
        query = f"SELECT {column} FROM weather_day WHERE city = 4 AND day BETWEEN ? AND ? ORDER BY day"
        assert found["daily"][name] == [value for (value,) in table(query, days[0], days[-1])]


def test_history_ends_yesterday_and_forecasts_begin_today(environment: Weather):
    span = {"start_date": "2026-02-19", "end_date": "2026-02-20"}
    later = {"start_date": "2026-02-20", "end_date": "2026-02-21"}
    for kind in ("temp", "rain", "snow"):
        past, future = f"get_historical_{kind}", f"get_{kind}_forecast"
        assert (
            refused(environment, past, **PLACE, **span)
            == "Error: end_date should be earlier than current_date"
        )
        assert refused(environment, past, **PLACE, **later) == (
            "Error: start_date should be earlier than current_date"
        )
        assert refused(environment, future, **PLACE, **span) == (
            "Error: start_date should not be earlier than current_date"
        )
        assert ask(environment, future, **PLACE, **later)["daily"]["time"] == ["2026-02-20", "2026-02-21"]
        current = ask(environment, f"get_current_{kind}", **PLACE, current_date=TODAY)
        assert current["daily"]["time"] == [TODAY]
        assert "current date" in refused(
            environment, f"get_current_{kind}", **PLACE, current_date="2026-02-19"
        )


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("2026-01-10", "2026-02-10", "end_date is more than 30 days after start_date; split the query"),
        ("2026-02-10", "2026-02-09", "should not be later than end_date"),
        ("2026-02-30", "2026-03-01", "should be a date"),
        ("yesterday", "2026-02-10", "should be a date"),
        ("2024-02-01", "2024-02-02", "no data for these dates"),
        ("2025-03-19", "2025-03-22", "no data for these dates"),
    ],
)
def test_spans_that_are_refused(environment: Weather, first: str, last: str, message: str):
    assert message in refused(environment, "get_historical_temp", **PLACE, start_date=first, end_date=last)


def test_an_end_thirty_days_after_the_start_is_allowed(environment: Weather):
    found = ask(environment, "get_historical_rain", **PLACE, start_date="2026-01-11", end_date="2026-02-10")
    assert len(found["daily"]["time"]) == 31


def test_the_nearest_city_within_fifty_kilometres_answers(environment: Weather):
    assert ask(environment, "get_elevation", latitude=LAT + 0.4, longitude=LON)["elevation"] == ELEVATION
    message = refused(environment, "get_elevation", latitude=LAT + 0.5, longitude=LON)
    assert message == "Error: no data for this location"
    assert "invalid" in ask(environment, "get_elevation", latitude=91, longitude=0)["error"]["code"]


# Distances on the WGS-84 ellipsoid: a quarter of a meridian, a quarter of the equator, half of a meridian.
@pytest.mark.parametrize(
    ("ends", "geodesic"),
    [
        ((0, 0, 90, 0), 10_001.966),
        ((0, 0, 0, 90), 10_018.754),
        ((90, 0, -90, 0), 20_003.931),
        ((5, 5, 5, 5), 0),
    ],
)
def test_distances_differ_from_geodesics_by_less_than_one_in_160(ends: tuple[float, ...], geodesic: float):
    assert kilometres(*ends) == pytest.approx(geodesic, rel=0.006)


@pytest.mark.parametrize(
    ("index", "level"),
    [
        *[(0, "good"), (20, "good"), (20.5, "fair"), (21, "fair"), (40, "fair"), (40.1, "moderate")],
        *[(60, "moderate"), (80, "poor"), (81, "very poor"), (100, "very poor"), (101, "extremely poor")],
    ],
)
def test_levels_of_air_quality_have_no_gaps(environment: Weather, index: float, level: str):
    assert ask(environment, "get_air_quality_level", air_quality_index=index) == level


class Tables:
    """The answers to goals, from their words and the tables, without tools."""

    def __init__(self, task: FamilyTask) -> None:
        self.goal = task.instruction
        self.today = date.fromisoformat(task.setting["today"])
        self.database: sqlite3.Connection = knowledge.connection(task.split, task.setting["world"])
        self.home: int = task.setting["city"]

    def cities(self) -> list[int]:
        """The cities that the goal names, in its order."""
        found = dict[int, int]()
        rows = self.database.execute("SELECT id, name, country FROM city").fetchall()
        for key, name, country in rows:
            homonym = sum(other == name for _, other, _ in rows) > 1
            place = self.goal.find(f"{name}, {country}" if homonym else name)
            if place >= 0:
                found[key] = place
        if "the city where I am" in self.goal:
            found[self.home] = self.goal.find("the city where I am")
        return sorted(found, key=lambda key: found[key])

    def days(self) -> tuple[date, ...]:
        """The first and the last day."""
        goal = self.goal
        if "on this day last year" in goal:
            return (self.today.replace(year=2025),) * 2
        if found := re.search(r"over the last (\d+) days", goal):
            return self.today - timedelta(int(found[1])), self.today - timedelta(1)
        if found := re.search(r"over the (\d+) days after today", goal):
            return self.today + timedelta(1), self.today + timedelta(int(found[1]))
        if found := re.search(r"on (\d{4}-\d\d-\d\d)", goal):
            return (date.fromisoformat(found[1]),) * 2
        if found := re.search(r"on the first (\w+) after today", goal):
            ahead = [self.today + timedelta(days) for days in range(1, 8)]
            return (next(day for day in ahead if f"{day:%A}" == found[1]),) * 2
        return (self.today + timedelta(1 if "tomorrow" in goal else -1),) * 2

    def column(self, expression: str, city: int | None = None) -> list[Any]:
        """A column of the days in a city, the first one by default."""
        first, last = self.days()
        rows = self.database.execute(
            f"SELECT {expression} FROM weather_day WHERE city = ? AND day BETWEEN ? AND ? ORDER BY day",
            (city or self.cities()[0], str(first), str(last)),
        )
        return [value for (value,) in rows.fetchall()]

    def says(self, word: str) -> bool:
        """True if the goal has a word."""
        return re.search(rf"\b{word}\b", self.goal) is not None

    def limit(self) -> int:
        """The temperature that the goal names."""
        found = re.search(r"(?:below|above) (-?\d+) °C", self.goal)
        assert found is not None
        return int(found[1])

    @property
    def fall(self) -> str:
        """What falls."""
        return "rain" if self.says("rain") else "snow"

    def extreme(self) -> float:
        """The highest or lowest temperature."""
        return max(self.column("tmax")) if self.says("highest") else min(self.column("tmin"))


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def day_of_extreme(tables: Tables) -> str:
    values = tables.column("tmax" if tables.says("highest") else "tmin")
    return str(tables.days()[0] + timedelta(values.index(tables.extreme())))


def rainy_days(tables: Tables) -> list[str]:
    rains = tables.column("rain")
    return [str(tables.days()[0] + timedelta(day)) for day, rain in enumerate(rains) if rain > 0]


def difference(tables: Tables) -> float:
    one, other = (tables.column("tmean", city)[0] for city in tables.cities())
    return abs(one - other)


ANSWERS: dict[str, Callable[[Tables], Any]] = {
    "temperature_of_a_day": lambda t: t.column("tmean")[0] if t.says("mean") else t.extreme(),
    "temperature_of_days": lambda t: mean(t.column("tmean")) if t.says("average") else t.extreme(),
    "total_fall": lambda t: sum(t.column(t.fall)),
    "difference_of_cities": difference,
    "mean_air_quality": lambda t: mean(t.column("aqi")),
    "fall_on_cold_days": lambda t: sum(t.column(f"CASE WHEN tmean < {t.limit()} THEN {t.fall} ELSE 0 END")),
    "days_with": lambda t: sum(t.column("rain > 0" if t.says("rain") else f"tmax > {t.limit()}")),
    "rain_or_not": lambda t: "yes" if t.column(t.fall)[0] > 0 else "no",
    "day_of_extreme": day_of_extreme,
    "three_temperatures": lambda t: [t.column(name)[0] for name in ("tmin", "tmean", "tmax")],
    "successive_temperatures": lambda t: t.column("tmax" if t.says("highest") else "tmin"),
    "dates_with_rain": rainy_days,
}


def disagreements(environment: Weather, kinds: set[str]) -> list[str]:
    """Tasks whose answer is not that of the tables; `kinds` gets the forms that were looked at."""
    wrong = list[str]()
    for task in environment.tasks("train"):
        if task.kind in ANSWERS:
            kinds.add(task.kind)
            assert task.answer is not None
            given = ANSWERS[task.kind](Tables(task))
            environment.reset(task, 0)
            environment.state.seen.update(task.evidence)
            if environment.step(json.dumps({"name": "finish", "arguments": {"answer": given}})).reward != 1.0:
                wrong.append(f"{task.id}: {task.instruction} {given} {task.answer.value}")
    return wrong


def test_answers_are_those_of_the_tables():
    kinds = set[str]()
    assert disagreements(Weather(), kinds) == []
    assert kinds == set(ANSWERS)


def test_the_tables_would_notice_another_day(monkeypatch: pytest.MonkeyPatch):
    days = Tables.days
    monkeypatch.setattr(Tables, "days", lambda self: tuple(day - timedelta(1) for day in days(self)))
    assert len(disagreements(Weather(), set())) > 100


def test_choices_are_those_of_the_tables():
    environment = Weather()
    looked_at = 0
    for task in environment.tasks("train"):
        if task.kind != "extreme_city":
            continue
        looked_at += 1
        tables, goal = Tables(task), task.instruction
        column = "rain" if "the most rain" in goal else "tmin" if "lowest" in goal else "tmax"
        values = {city: tables.column(column, city)[0] for city in tables.cities()}
        best = (min if "lowest" in goal else max)(values, key=lambda city: values[city])
        ((name,),) = tables.database.execute("SELECT name FROM city WHERE id = ?", (best,)).fetchall()
        assert task.answer is not None
        assert task.answer.value == name
        assert list(values.values()).count(values[best]) == 1
    assert looked_at > 20
