"""Questions of `weather` whose answer is a number."""

import math
from collections.abc import Sequence

from agentgym_envs.families.drafts import Ask, Draft, only
from agentgym_envs.families.weather.places import (
    any_place,
    coming_day,
    measured,
    past_day,
    past_days,
    places,
)
from agentgym_envs.families.weather.state import WeatherState
from agentgym_envs.knowledge.rows import Draw

TEMPERATURES = {
    "highest": "temperature_2m_max",
    "lowest": "temperature_2m_min",
    "mean": "temperature_2m_mean",
}
FALLS = {"rain": ("rain_sum", "mm"), "snow": ("snowfall_sum", "cm")}
DEGREES = "Answer with a number in °C; a difference of up to 0.1 is accepted."
AIR = "european_aqi_pm2_5"


def temperature_of_a_day(scene: WeatherState, draw: Draw) -> Draft:
    """The highest, lowest or mean temperature of one day, past or coming."""
    place, what = any_place(scene, draw), draw.pick(list(TEMPERATURES))
    day = past_day(scene, draw) if draw.random() < 0.6 else coming_day(scene, draw)
    verb = "was" if day.side == "past" else "will be"
    goal = f"What {verb} the {what} temperature in {place.text} {day.text}? {DEGREES}"
    return Draft(
        goal, lambda ask: measured(ask, "temp", place, day)[TEMPERATURES[what]][0], "number", tolerance=0.1
    )


def temperature_of_days(scene: WeatherState, draw: Draw) -> Draft:
    """The extreme of several days, or the average of their mean temperatures."""
    place, period = any_place(scene, draw), past_days(draw)
    word, column, combine = draw.pick(
        [
            ("highest temperature", "temperature_2m_max", max),
            ("lowest temperature", "temperature_2m_min", min),
            ("average of the daily mean temperatures", "temperature_2m_mean", mean),
        ]
    )
    goal = draw.pick(["What was the {} in {} {}?", "Please tell me the {} in {} {}."])
    return Draft(
        f"{goal.format(word, place.text, period.text)} {DEGREES}",
        lambda ask: round(combine(measured(ask, "temp", place, period)[column]), 2),
        "number",
        tolerance=0.1,
    )


def total_fall(scene: WeatherState, draw: Draw) -> Draft:
    """The rain or snow of several days."""
    place, period, kind = any_place(scene, draw), past_days(draw), draw.pick(["rain", "rain", "snow"])
    column, unit = FALLS[kind]

    def solve(ask: Ask) -> float:
        total = sum(measured(ask, kind, place, period)[column])
        only(total > 1)
        return round(total, 2)

    goal = (
        f"How much {kind} fell in {place.text} {period.text}? Answer with the sum in {unit}; a"
        " difference of up"
    )
    return Draft(f"{goal} to 0.1 is accepted.", solve, "number", tolerance=0.1)


def difference_of_cities(scene: WeatherState, draw: Draw) -> Draft:
    """The difference of the mean temperatures of two cities on a day."""
    (first, second), day = places(scene, draw, 2), past_day(scene, draw)

    def solve(ask: Ask) -> float:
        one, other = (measured(ask, "temp", city, day)["temperature_2m_mean"][0] for city in (first, second))
        return round(abs(one - other), 1)

    goal = (
        f"By how many degrees did the mean temperatures of {first.text} and {second.text} differ {day.text}?"
    )
    return Draft(f"{goal} {DEGREES}", solve, "number", tolerance=0.1)


def distance(scene: WeatherState, draw: Draw) -> Draft:
    """The distance of two cities."""
    first, second = places(scene, draw, 2)
    ends = f"{first.text} and {second.text}"
    goal = draw.pick([f"How far apart are {ends}?", f"What is the distance between {ends}?"])
    return Draft(
        f"{goal} Answer in kilometres; a difference of up to 20 is accepted.",
        lambda ask: apart(ask, first.find(ask), second.find(ask)),
        "number",
        tolerance=20,
    )


def fall_on_cold_days(scene: WeatherState, draw: Draw) -> Draft:
    """The snow or rain of those days whose mean temperature is below a limit."""
    place, period = any_place(scene, draw), past_days(draw)
    days = (
        "SELECT tmean, rain, snow FROM weather_day JOIN city ON city = id WHERE name = ? AND day <"
        " ? AND rain + snow"
    )
    limit, rain, snow = draw.pick(scene.rows(days, place.name or "", scene.today) or [(5, 1, 0)])
    limit, kind = math.ceil(limit) + 1, "rain" if rain > snow else "snow"
    column, unit = FALLS[kind]

    def solve(ask: Ask) -> float:
        means = measured(ask, "temp", place, period)["temperature_2m_mean"]
        falls = measured(ask, kind, place, period)[column]
        cold = [fall for one, fall in zip(means, falls, strict=True) if one < limit]
        only(0 < len(cold) < len(falls) and 1 < sum(cold) != sum(falls))
        return round(sum(cold), 2)

    goal = (
        f"How much {kind} fell in {place.text} {period.text}, on days with a mean temperature"
        f" below {limit} °C?"
        f" Answer with the sum in {unit}; a difference of up to 0.1 is accepted."
    )
    return Draft(goal, solve, "number", tolerance=0.1)


def mean_air_quality(scene: WeatherState, draw: Draw) -> Draft:
    """The average air quality index of several days."""
    place, period = any_place(scene, draw), past_days(draw)
    goal = (
        f"What was the average air quality index in {place.text} {period.text}?"
        " Answer with a number; a difference of up to 0.5 is accepted."
    )
    return Draft(
        goal, lambda ask: round(mean(measured(ask, "aqi", place, period)[AIR]), 2), "number", tolerance=0.5
    )


def days_with(scene: WeatherState, draw: Draw) -> Draft:
    """The number of days with rain, or with temperatures above a limit."""
    place, period, limit = any_place(scene, draw), past_days(draw), draw.randrange(0, 24)
    rains = draw.random() < 0.5

    def solve(ask: Ask) -> int:
        daily = measured(ask, "rain" if rains else "temp", place, period)
        values = daily["rain_sum"] if rains else daily["temperature_2m_max"]
        return sum(value > (0 if rains else limit) for value in values)

    what = "did it rain" if rains else f"was the highest temperature above {limit} °C"
    goal = f"On how many days {what} in {place.text} {period.text}? Answer with an integer."
    return Draft(goal, solve, "integer", guessable=True)


def elevation(scene: WeatherState, draw: Draw) -> Draft:
    """The elevation of a city."""
    place = any_place(scene, draw)
    goal = draw.pick(["How high above the sea is {}?", "What is the elevation of {}?"]).format(place.text)
    return Draft(
        f"{goal} Answer with an integer, in metres.",
        lambda ask: ask("get_elevation", **place.find(ask))["elevation"],
        "integer",
    )


def air_quality_index(scene: WeatherState, draw: Draw) -> Draft:
    """The air quality index of a day."""
    place, day = any_place(scene, draw), past_day(scene, draw)
    goal = f"What was the air quality index in {place.text} {day.text}? Answer with an integer."
    return Draft(goal, lambda ask: measured(ask, "aqi", place, day)[AIR][0], "integer", guessable=True)


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


def apart(ask: Ask, first: dict[str, float], second: dict[str, float]) -> float:
    """The distance of two positions in kilometres."""
    ends = {f"{name}1": value for name, value in first.items()}
    return ask("get_distance", **ends, **{f"{name}2": value for name, value in second.items()})
