"""Questions of `weather`, by the type of their answers."""

from collections.abc import Sequence

from agentgym_envs.families.drafts import Form
from agentgym_envs.families.weather import choices, numbers
from agentgym_envs.families.weather.state import WeatherState

FORMS: dict[str, Sequence[Form[WeatherState]]] = {
    "number": (
        numbers.temperature_of_a_day,
        numbers.temperature_of_a_day,
        numbers.temperature_of_days,
        numbers.total_fall,
        numbers.difference_of_cities,
        numbers.distance,
        numbers.fall_on_cold_days,
        numbers.mean_air_quality,
    ),
    "string": (
        choices.extreme_city,
        choices.extreme_city,
        choices.rain_or_not,
        choices.air_quality_level,
        choices.day_of_extreme,
        choices.closer_or_higher,
    ),
    "integer": (numbers.days_with, numbers.elevation, numbers.air_quality_index),
    "list": (choices.three_temperatures, choices.successive_temperatures, choices.dates_with_rain),
}
