"""Tools of `weather`."""

import math
from datetime import date
from typing import Annotated, Any, NoReturn

from pydantic import Field

from agentgym_envs.families.states import check_valid_actions, finish
from agentgym_envs.families.weather.state import WeatherState
from agentgym_envs.tooluse import ToolError, Toolset, tool

Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
Day = Annotated[str, Field(max_length=40)]

EARTH_RADIUS_KM = 6371.0088
"""Mean radius; the distance differs by at most 0.6 % from that on the WGS-84 ellipsoid."""
NEAREST_KM = 50.0
LONGEST_SPAN = 30
"""Longest span of a query: days from its first date to its last."""
HOMONYMS = 3
LEVELS = ((20, "good"), (40, "fair"), (60, "moderate"), (80, "poor"), (100, "very poor"))

MEASURES: dict[str, dict[str, tuple[str, str]]] = {
    "temp": {
        "temperature_2m_max": ("tmax", "°C"),
        "temperature_2m_min": ("tmin", "°C"),
        "temperature_2m_mean": ("tmean", "°C"),
    },
    "rain": {"rain_sum": ("rain", "mm")},
    "snow": {"snowfall_sum": ("snow", "cm")},
    "aqi": {"european_aqi_pm2_5": ("aqi", "EAQI")},
}
"""Names of results, with their columns and units."""
QUERIES = {
    kind: f"SELECT day, {', '.join(column for column, _ in measures.values())} FROM weather_day"
    " WHERE city = ? AND day BETWEEN ? AND ? ORDER BY day"
    for kind, measures in MEASURES.items()
}
UNITS = {
    kind: {"time": "iso8601", **{name: unit for name, (_, unit) in measures.items()}}
    for kind, measures in MEASURES.items()
}


@tool("read")
def get_user_current_date(state: WeatherState) -> str:
    """Get the current date."""
    return state.today


@tool("read")
def get_user_current_location(state: WeatherState) -> str:
    """Get the city in which the user is."""
    return state.rows("SELECT name FROM city WHERE id = ?", state.city)[0][0]


@tool("read")
def get_latitude_longitude(
    state: WeatherState, name: Annotated[str, Field(max_length=200)]
) -> dict[str, Any]:
    """Get the position of a city; several if cities in different countries have the name.

    Args:
        name: Name of the city.
    """
    wanted = name.strip().casefold()
    columns = "name, lat, lon, country_code, country, id"
    rows = state.rows(f"SELECT {columns} FROM city ORDER BY id")
    found = [row for row in rows if row[0].casefold() == wanted][:HOMONYMS]
    if not found:
        _refuse("Error: there is no such city", "name")
    state.located.update(row[-1] for row in found)
    keys = ("name", "latitude", "longitude", "country_code", "country")
    return {"results": [dict(zip(keys, row[:-1], strict=True)) for row in found]}


@tool("read")
def get_elevation(state: WeatherState, latitude: Latitude, longitude: Longitude) -> dict[str, Any]:
    """Get the elevation of a place in metres.

    Args:
        latitude: Latitude of the place, in degrees.
        longitude: Longitude of the place, in degrees.
    """
    city = city_at(state, latitude, longitude)
    state.seen.add(f"elevation/{city}")
    height = state.rows("SELECT elevation FROM city WHERE id = ?", city)[0][0]
    return {"latitude": latitude, "longitude": longitude, "elevation": height}


@tool("read")
def get_distance(
    state: WeatherState,
    latitude1: Latitude,
    longitude1: Longitude,
    latitude2: Latitude,
    longitude2: Longitude,
) -> float:
    """Get the distance between two places in kilometres.

    Args:
        latitude1: Latitude of the first place.
        longitude1: Longitude of the first place.
        latitude2: Latitude of the second place.
        longitude2: Longitude of the second place.
    """
    ends = sorted({_city_near(state, latitude1, longitude1), _city_near(state, latitude2, longitude2)})
    state.seen.add(f"distance/{'/'.join(map(str, ends))}")
    return round(kilometres(latitude1, longitude1, latitude2, longitude2), 3)


def _past(kind: str, what: str) -> Any:
    def historical(
        state: WeatherState, latitude: Latitude, longitude: Longitude, start_date: Day, end_date: Day
    ) -> dict[str, Any]:
        first, last = _span(start_date, end_date)
        for name, day in (("start_date", first), ("end_date", last)):
            if str(day) >= state.today:
                _refuse(f"Error: {name} should be earlier than current_date", name)
        return _daily(state, kind, latitude, longitude, first, last)

    historical.__doc__ = f"Get {what} of past days.{_span_arguments('before the current date')}"
    return historical


def _coming(kind: str, what: str) -> Any:
    def forecast(
        state: WeatherState, latitude: Latitude, longitude: Longitude, start_date: Day, end_date: Day
    ) -> dict[str, Any]:
        first, last = _span(start_date, end_date)
        for name, day in (("start_date", first), ("end_date", last)):
            if str(day) < state.today:
                _refuse(f"Error: {name} should not be earlier than current_date", name)
        return _daily(state, kind, latitude, longitude, first, last)

    forecast.__doc__ = f"Get the forecast of {what}.{_span_arguments('not before the current date')}"
    return forecast


def _current(kind: str, what: str) -> Any:
    def current(
        state: WeatherState, latitude: Latitude, longitude: Longitude, current_date: Day
    ) -> dict[str, Any]:
        day = _date(current_date, "current_date")
        if str(day) != state.today:
            _refuse("Error: current_date should be the current date", "current_date")
        return _daily(state, kind, latitude, longitude, day, day)

    current.__doc__ = f"""Get {what} of the current date.

    Args:
        latitude: Latitude of the place, in degrees.
        longitude: Longitude of the place, in degrees.
        current_date: The current date, YYYY-MM-DD.
    """
    return current


def _span_arguments(when: str) -> str:
    return f"""

    Args:
        latitude: Latitude of the place, in degrees.
        longitude: Longitude of the place, in degrees.
        start_date: First day, YYYY-MM-DD, {when}.
        end_date: Last day, YYYY-MM-DD, {when}.
    """


@tool("read")
def get_air_quality_level(state: WeatherState, air_quality_index: float) -> str:  # noqa: ARG001 - a tool's signature
    """Get the level of air quality of an index, from good to extremely poor.

    Args:
        air_quality_index: The index.
    """
    return next((level for most, level in LEVELS if air_quality_index <= most), "extremely poor")


def _daily(
    state: WeatherState, kind: str, latitude: float, longitude: float, first: date, last: date
) -> dict[str, Any]:
    city = city_at(state, latitude, longitude)
    rows = state.rows(QUERIES[kind], city, str(first), str(last))
    if len(rows) != (last - first).days + 1:
        _refuse("Error: no data for these dates", "start_date")
    state.seen.update([f"{kind}/{city}/{row[0]}" for row in rows])
    columns = list(zip(*rows, strict=True))
    daily = dict(zip(("time", *MEASURES[kind]), map(list, columns), strict=True))
    return {"latitude": latitude, "longitude": longitude, "daily_units": UNITS[kind], "daily": daily}


def city_at(state: WeatherState, latitude: float, longitude: float) -> int:
    """The nearest city; raises `ToolError` if none is within 50 km."""
    city = _city_near(state, latitude, longitude)
    if not city:
        _refuse("Error: no data for this location", "latitude")
    return city


def _city_near(state: WeatherState, latitude: float, longitude: float) -> int:
    """The nearest city, 0 if none is near."""
    exact = state.rows("SELECT id FROM city WHERE lat = ? AND lon = ?", latitude, longitude)
    if exact:
        return exact[0][0]
    nearest_km, city = min(
        (kilometres(latitude, longitude, lat, lon), number)
        for number, lat, lon in state.rows("SELECT id, lat, lon FROM city")
    )
    return city if nearest_km <= NEAREST_KM else 0


def kilometres(latitude1: float, longitude1: float, latitude2: float, longitude2: float) -> float:
    """Length of the great circle between two places, by the haversine formula."""
    north1, north2 = math.radians(latitude1), math.radians(latitude2)
    east = math.radians(longitude2 - longitude1)
    chord = (
        math.sin((north2 - north1) / 2) ** 2 + math.cos(north1) * math.cos(north2) * math.sin(east / 2) ** 2
    )
    return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(chord)))


def _span(start_date: str, end_date: str) -> tuple[date, date]:
    first, last = _date(start_date, "start_date"), _date(end_date, "end_date")
    if first > last:
        _refuse("Error: start_date should not be later than end_date", "start_date")
    if (last - first).days > LONGEST_SPAN:
        _refuse(
            f"Error: end_date is more than {LONGEST_SPAN} days after start_date; split the query into shorter"
            " periods",
            "end_date",
        )
    return first, last


def _date(text: str, name: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        _refuse(f"Error: {name} should be a date, YYYY-MM-DD", name)


def _refuse(message: str, argument: str) -> NoReturn:
    raise ToolError(message, argument=argument)


TOOLS = Toolset(
    [
        get_user_current_date,
        get_user_current_location,
        get_latitude_longitude,
        get_elevation,
        get_distance,
        *(
            tool("read", f"get_{when}")(made(kind, what))
            for kind, what in (("temp", "temperatures"), ("rain", "rain"), ("snow", "snow"))
            for when, made in (
                (f"historical_{kind}", _past),
                (f"{kind}_forecast", _coming),
                (f"current_{kind}", _current),
            )
        ),
        tool("read", "get_historical_air_quality_index")(_past("aqi", "the air quality index")),
        tool("read", "get_current_air_quality_index")(_current("aqi", "the air quality index")),
        get_air_quality_level,
        check_valid_actions,
        finish,
    ]
)
