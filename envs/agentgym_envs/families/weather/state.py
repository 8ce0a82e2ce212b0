"""State of a weather episode: the date, the place, and the database."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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

    def copy(self) -> Self:
        return replace(self, seen=set(self.seen))

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
