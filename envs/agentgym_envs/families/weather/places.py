"""Places and periods of questions: how a goal names them, and how tools find them."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from agentgym_envs.families.drafts import Ask, only
from agentgym_envs.families.weather.state import WeatherState
from agentgym_envs.knowledge.rows import Draw

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TOOL_NAMES = {
    "past": {kind: f"get_historical_{kind}" for kind in ("temp", "rain", "snow")}
    | {"aqi": "get_historical_air_quality_index"},
    "future": {kind: f"get_{kind}_forecast" for kind in ("temp", "rain", "snow")},
}


@dataclass(frozen=True)
class Place:
    """A city as a goal names it."""

    name: str
    """Empty for the city in which the user is."""
    country: str = ""
    """Empty where the name is unique."""

    @property
    def text(self) -> str:
        """The place after `in`."""
        return (f"{self.name}, {self.country}" if self.country else self.name) or "the city where I am"

    def find(self, ask: Ask) -> dict[str, float]:
        """Latitude and longitude."""
        name = self.name or ask("get_user_current_location")
        found = ask("get_latitude_longitude", name=name)["results"]
        fitting = [one for one in found if self.country in ("", one["country"])]
        only(len(fitting) == 1)
        return {"latitude": fitting[0]["latitude"], "longitude": fitting[0]["longitude"]}


@dataclass(frozen=True)
class Period:
    """Successive days as a goal names them, and the side of today on which they lie."""

    text: str
    side: str
    """`past` or `future`."""
    first: int | str
    """First and last day: dates, or days after today."""
    last: int | str

    def days(self, ask: Ask) -> dict[str, str]:
        """The dates of the first and the last day."""
        if isinstance(self.first, str):
            return {"start_date": self.first, "end_date": str(self.last)}
        today = date.fromisoformat(ask("get_user_current_date"))
        first, last = (today + timedelta(int(one)) for one in (self.first, self.last))
        return {"start_date": str(first), "end_date": str(last)}


def measured(ask: Ask, kind: str, place: Place, period: Period) -> dict[str, Any]:
    """The daily values of a kind of weather; raises `Unsuitable` where one is missing."""
    where, when = place.find(ask), period.days(ask)
    daily = ask(TOOL_NAMES[period.side][kind], **where, **when)["daily"]
    only(all(value is not None for values in daily.values() for value in values))
    return daily


def any_place(scene: WeatherState, draw: Draw) -> Place:
    """The user's city, or another one."""
    return Place("") if draw.random() < 0.2 else places(scene, draw, 1)[0]


def places(scene: WeatherState, draw: Draw, count: int) -> list[Place]:
    """Different cities of one world."""
    rows = scene.rows("SELECT name, country FROM city ORDER BY id")
    names = [name for name, _ in rows]
    chosen = draw.sample(rows, count)
    return [Place(name, country if names.count(name) > 1 else "") for name, country in chosen]


def past_day(scene: WeatherState, draw: Draw) -> Period:
    """Yesterday, this day last year, or a date."""
    number = draw.randrange(3)
    if number == 0:
        return Period("yesterday", "past", -1, -1)
    if number == 1:
        before = date.fromisoformat(scene.today).replace(year=date.fromisoformat(scene.today).year - 1)
        return Period("on this day last year", "past", str(before), str(before))
    day = scene.day(-draw.randrange(2, 30))
    return Period(f"on {day}", "past", day, day)


def past_days(draw: Draw) -> Period:
    """Some days before today."""
    count = draw.randrange(3, 11)
    return Period(f"over the last {count} days, not counting today", "past", -count, -1)


def coming_day(scene: WeatherState, draw: Draw) -> Period:
    """Tomorrow, or a weekday after today."""
    offset = draw.randrange(1, 8)
    if offset == 1:
        return Period("tomorrow", "future", 1, 1)
    weekday = WEEKDAYS[date.fromisoformat(scene.day(offset)).weekday()]
    return Period(f"on the first {weekday} after today", "future", offset, offset)


def listed(names: list[str]) -> str:
    """Names in a sentence."""
    return f"{', '.join(names[:-1])} or {names[-1]}"
