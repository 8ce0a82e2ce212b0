"""Questions of `weather` whose answer is a name, a date, yes or no, or a list."""

from typing import Any

from agentgym_envs.families.drafts import Ask, Draft, best, only
from agentgym_envs.families.weather.numbers import AIR, FALLS, TEMPERATURES, apart
from agentgym_envs.families.weather.places import (
    Period,
    any_place,
    coming_day,
    listed,
    measured,
    past_day,
    past_days,
    places,
)
from agentgym_envs.families.weather.state import WeatherState
from agentgym_envs.knowledge.rows import Draw


def extreme_city(scene: WeatherState, draw: Draw) -> Draft:
    """The warmest, coldest or wettest of two or three cities."""
    cities, largest = places(scene, draw, draw.randrange(2, 4)), draw.random() < 0.5
    day = past_day(scene, draw) if draw.random() < 0.6 else coming_day(scene, draw)
    kind = draw.pick(["temp", "temp", "rain"])
    column = "rain_sum" if kind == "rain" else f"temperature_2m_{'max' if largest else 'min'}"
    largest = largest or kind == "rain"
    what = "the most rain" if kind == "rain" else f"the {'highest' if largest else 'lowest'} temperature"
    only(len({city.name for city in cities}) == len(cities))

    def solve(ask: Ask) -> str:
        scores = {city.name: measured(ask, kind, city, day)[column][0] for city in cities}
        return best(scores, largest)

    verb = "had" if day.side == "past" else "will have"
    goal = (
        f"Which city {verb} {what} {day.text}: {listed([city.text for city in cities])}? Answer with"
        " its name."
    )
    return Draft(goal, solve, guessable=True)


def rain_or_not(scene: WeatherState, draw: Draw) -> Draft:
    """Whether rain (or snow) falls on a day."""
    place, kind = any_place(scene, draw), draw.pick(["rain", "rain", "snow"])
    day = past_day(scene, draw) if draw.random() < 0.3 else coming_day(scene, draw)
    wanted = draw.random() < 0.5  # rain falls on fewer days than it does not

    def solve(ask: Ask) -> str:
        falls = measured(ask, kind, place, day)[FALLS[kind][0]][0] > 0
        only(falls == wanted)
        return "yes" if falls else "no"

    verb = "Did it" if day.side == "past" else "Will it"
    decision = draw.pick(["", f"I want to be outside in {place.text}. "])
    return Draft(
        f"{decision}{verb} {kind} in {place.text} {day.text}? Answer yes or no.",
        solve,
        "boolean",
        guessable=True,
    )


def air_quality_level(scene: WeatherState, draw: Draw) -> Draft:
    """The level of air quality on a day."""
    place, day = any_place(scene, draw), past_day(scene, draw)

    def solve(ask: Ask) -> str:
        index = measured(ask, "aqi", place, day)[AIR][0]
        return ask("get_air_quality_level", air_quality_index=index)

    goal = f"What was the air quality level in {place.text} {day.text}? Answer with the name of the level."
    return Draft(goal, solve, guessable=True)


def day_of_extreme(scene: WeatherState, draw: Draw) -> Draft:
    """The day with the highest or lowest temperature."""
    place, period, largest = any_place(scene, draw), past_days(draw), draw.random() < 0.5
    word, column = ("highest", "temperature_2m_max") if largest else ("lowest", "temperature_2m_min")

    def solve(ask: Ask) -> str:
        daily = measured(ask, "temp", place, period)
        return best(dict(zip(daily["time"], daily[column], strict=True)), largest)

    goal = (
        f"Which day had the {word} temperature in {place.text} {period.text}? Answer with its date,"
        " YYYY-MM-DD."
    )
    return Draft(goal, solve, "date", guessable=True)


def closer_or_higher(scene: WeatherState, draw: Draw) -> Draft:
    """The city that is closer to another one, or the higher one."""
    first, second, third = places(scene, draw, 3)
    only(len({first.name, second.name, third.name}) == 3)
    choices, closer = f"{first.text} or {second.text}", draw.random() < 0.5

    def solve(ask: Ask) -> str:
        found = {city.name: city.find(ask) for city in (first, second)}
        if not closer:
            return best({name: ask("get_elevation", **where)["elevation"] for name, where in found.items()})
        home = third.find(ask)
        return best({name: apart(ask, where, home) for name, where in found.items()}, largest=False)

    goal = (
        f"Which city is closer to {third.text}: {choices}?" if closer else f"Which city is higher: {choices}?"
    )
    return Draft(f"{goal} Answer with its name.", solve, guessable=True)


def three_temperatures(scene: WeatherState, draw: Draw) -> Draft:
    """The lowest, mean and highest temperature of a day."""
    place, day = any_place(scene, draw), past_day(scene, draw)
    columns = [TEMPERATURES[what] for what in ("lowest", "mean", "highest")]
    goal = (
        f"What were the lowest, mean and highest temperature in {place.text} {day.text}? Answer"
        " with an array of"
        " three numbers in °C, in that order; differences of up to 0.1 are accepted."
    )
    return Draft(
        goal,
        lambda ask: _columns(measured(ask, "temp", place, day), columns),
        "number",
        tolerance=0.1,
        ordered=True,
    )


def successive_temperatures(scene: WeatherState, draw: Draw) -> Draft:
    """The highest or lowest temperatures of successive days."""
    place, what = any_place(scene, draw), draw.pick(["highest", "lowest"])
    count = draw.randrange(2, 6)
    period = Period(f"over the {count} days after today", "future", 1, count)
    goal = (
        f"What are the {what} temperatures in {place.text} {period.text}? Answer with an array"
        " of numbers in °C, one"
        " for each day, in order of the days; differences of up to 0.1 are accepted."
    )
    return Draft(
        goal,
        lambda ask: measured(ask, "temp", place, period)[TEMPERATURES[what]],
        "number",
        tolerance=0.1,
        ordered=True,
    )


def dates_with_rain(scene: WeatherState, draw: Draw) -> Draft:
    """The days on which it rained."""
    place, period = any_place(scene, draw), past_days(draw)

    def solve(ask: Ask) -> list[str]:
        daily = measured(ask, "rain", place, period)
        return [day for day, rain in zip(daily["time"], daily["rain_sum"], strict=True) if rain > 0]

    goal = (
        f"On which days did it rain in {place.text} {period.text}? Answer with the dates,"
        " YYYY-MM-DD, in an array."
    )
    return Draft(goal, solve, "date", guessable=True)


def _columns(daily: dict[str, Any], columns: list[str]) -> list[float]:
    return [daily[column][0] for column in columns]
