"""Tools of the airline that read."""

from datetime import datetime, timedelta
from typing import Any

from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tooluse import tool
from agentgym_envs.tooluse.tables import Row

AIRPORTS = {
    "SFO": "San Francisco",
    "JFK": "New York",
    "LAX": "Los Angeles",
    "ORD": "Chicago",
    "DFW": "Dallas",
    "DEN": "Denver",
    "SEA": "Seattle",
    "ATL": "Atlanta",
    "MIA": "Miami",
    "BOS": "Boston",
    "PHX": "Phoenix",
    "IAH": "Houston",
    "LAS": "Las Vegas",
    "MCO": "Orlando",
    "EWR": "Newark",
    "CLT": "Charlotte",
    "MSP": "Minneapolis",
    "DTW": "Detroit",
    "PHL": "Philadelphia",
    "LGA": "LaGuardia",
}
"""Airports by IATA code."""


@tool("read")
def get_user_details(world: DeskWorld, user_id: str) -> dict[str, Any]:
    """Show a user: name, payment methods, saved passengers, membership and reservations.

    Args:
        user_id: Id of the user, such as jane_roe_1234.
    """
    return user_of(world, user_id)


@tool("read")
def get_reservation_details(world: DeskWorld, reservation_id: str) -> dict[str, Any]:
    """Show a reservation: flights, cabin, passengers, payments, baggage and insurance.

    Args:
        reservation_id: Id of the reservation, such as 8AB3CD.
    """
    return reservation_of(world, reservation_id)


@tool("read")
def list_all_airports(world: DeskWorld) -> dict[str, str]:  # noqa: ARG001 - a tool's state
    """List the airports and their cities."""
    return AIRPORTS


@tool("read")
def search_direct_flight(world: DeskWorld, origin: str, destination: str, date: str) -> list[dict[str, Any]]:
    """List the direct flights of a day that can be booked, with seats and prices.

    Args:
        origin: IATA code of the airport, such as SFO.
        destination: IATA code of the airport, such as JFK.
        date: Day of departure, YYYY-MM-DD.
    """
    flights = world.tables["flights"].values()
    return [
        _offer(flight, date)
        for flight in flights
        if flight["origin"] == origin and flight["destination"] == destination and _is_available(flight, date)
    ]


@tool("read")
def search_onestop_flight(
    world: DeskWorld, origin: str, destination: str, date: str
) -> list[list[dict[str, Any]]]:
    """List the pairs of flights with one stop that can be booked, with seats and prices.

    Args:
        origin: IATA code of the airport, such as SFO.
        destination: IATA code of the airport, such as JFK.
        date: Day of departure of the first flight, YYYY-MM-DD.
    """
    found = list[list[dict[str, Any]]]()
    flights = list(world.tables["flights"].values())
    firsts = [one for one in flights if one["origin"] == origin and _is_available(one, date)]
    lasts = [one for one in flights if one["destination"] == destination]
    for first in firsts:
        second_date = _next_day(date) if "+1" in first["scheduled_arrival_time_est"] else date
        for second in lasts:
            if (
                second["origin"] == first["destination"]
                and second["scheduled_departure_time_est"] >= first["scheduled_arrival_time_est"]
                and _is_available(second, second_date)
            ):
                found.append([_leg(first, date), _leg(second, second_date)])
    return found


@tool("read")
def get_flight_status(world: DeskWorld, flight_number: str, date: str) -> str:
    """Show the status of a flight on a day.

    Args:
        flight_number: Number of the flight, such as HAT001.
        date: Day of departure, YYYY-MM-DD.
    """
    return flight_on(world, flight_number, date)["status"]


def user_of(world: DeskWorld, user_id: str) -> Row:
    """A user, to be read; raises `ToolError`."""
    if not world.is_tau1 and user_id not in world.tables["users"]:
        world.refuse(f"User {user_id[:80]} not found")
    return world.row("users", user_id, "user")


def reservation_of(world: DeskWorld, reservation_id: str) -> Row:
    """A reservation, to be read; raises `ToolError`, with tau-bench's wording too."""
    if reservation_id not in world.tables["reservations"]:
        world.refuse("user not found" if world.is_tau1 else f"Reservation {reservation_id[:80]} not found")
    return world.tables["reservations"][reservation_id]


def flight_on(world: DeskWorld, flight_number: str, date: str) -> Row:
    """A flight on a day, to be read; raises `ToolError`."""
    flights = world.tables["flights"]
    if flight_number not in flights:
        world.refuse(f"flight {flight_number[:80]} not found")
    days = flights[flight_number]["dates"]
    if date not in days:
        world.refuse(f"flight {flight_number} not found on date {date[:40]}")
    return days[date]


def _is_available(flight: Row, date: str) -> bool:
    return date in flight["dates"] and flight["dates"][date]["status"] == "available"


def _offer(flight: Row, date: str) -> dict[str, Any]:
    """The flight of a day as a search shows it."""
    day = flight["dates"][date]
    facts = {name: value for name, value in flight.items() if name != "dates"}
    return {**facts, "available_seats": day["available_seats"], "prices": day["prices"]}


def _leg(flight: Row, date: str) -> dict[str, Any]:
    return {**_offer(flight, date), "date": date}


def _next_day(date: str) -> str:
    try:
        return (datetime.fromisoformat(date) + timedelta(days=1)).date().isoformat()
    except (ValueError, OverflowError):
        return date


READS = (
    get_user_details,
    get_reservation_details,
    list_all_airports,
    search_direct_flight,
    search_onestop_flight,
)
