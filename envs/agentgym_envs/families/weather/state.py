"""State of a weather episode: the date, the place, and the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, Self

from agentgym_envs.families.states import KnowingState
from agentgym_envs.knowledge.rows import Draw

WORLDS = {"train": 8, "valid": 2, "test": 4, "agentgym": 6}
"""Number of worlds by split."""
FIRST_DATE, DATES = date(2026, 2, 5), 30
"""First of the dates that tasks have as today, and how many there are; worlds have weather around each."""
CITIES = 9
"""Cities, numbered from 1, among which is no city's homonym with a larger number."""


@dataclass
class WeatherState(KnowingState):
    """A day and a city in which the user is."""

    today: str = ""
    city: int = 1
    located: set[int] = field(default_factory=set[int])
    """Cities whose positions tools have returned."""

    def copy(self) -> Self:
        return replace(self, seen=set(self.seen), located=set(self.located))

    def knows(self, row: str) -> bool:
        """As in `EpisodeState`. A distance follows from two positions."""
        kind, *cities = row.split("/")
        return row in self.seen or (kind == "distance" and self.located.issuperset(map(int, cities)))

    def day(self, offset: int) -> str:
        """The day so many days after today."""
        return str(date.fromisoformat(self.today) + timedelta(offset))


def setting(split: str, draw: Draw) -> dict[str, Any]:
    """A world, a day, and a city of a unique name."""
    return {
        "world": draw.randrange(WORLDS[split]),
        "today": str(FIRST_DATE + timedelta(draw.randrange(DATES))),
        "city": draw.randrange(3, CITIES + 1),
    }


def state(split: str, setting: Mapping[str, Any]) -> WeatherState:
    """The state at the beginning."""
    return WeatherState(split=split, **setting)
