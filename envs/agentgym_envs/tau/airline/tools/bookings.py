"""Tools of the airline that change reservations and users."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agentgym_envs.tau.airline.rows import (
    BAGGAGE_USD,
    INSURANCE_USD,
    NOW,
    FlightChoice,
    Passenger,
    Payment,
    charge,
    require_payments,
    segment,
    take_payments,
)
from agentgym_envs.tau.airline.tools.lookups import reservation_of, user_of
from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tooluse import tool
from agentgym_envs.tooluse.tables import Row

Cabin = Literal["basic_economy", "economy", "business"]
Count = Annotated[int, Field(ge=0)]
NEW_IDS = ("HATHAT", "HATHAU", "HATHAV")
"""Ids of new reservations, in this order."""
CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")
"""Ids of new certificates, in this order."""


@tool("write")
def book_reservation(
    world: DeskWorld,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: Literal["one_way", "round_trip"],
    cabin: Cabin,
    flights: list[FlightChoice],
    passengers: list[Passenger],
    payment_methods: list[Payment],
    total_baggages: Count,
    nonfree_baggages: Count,
    insurance: Literal["yes", "no"],
) -> dict[str, Any]:
    """Book a reservation. Explain it, and have the user confirm (yes) first.

    Args:
        user_id: Id of the user, such as jane_roe_1234.
        origin: IATA code of the first airport, such as SFO.
        destination: IATA code of the airport of the trip's destination, such as JFK.
        flight_type: One way or round trip.
        cabin: Cabin of all flights.
        flights: The flights in order, each by number and day.
        passengers: The passengers.
        payment_methods: Amounts by payment method of the user, which add up to the price.
        total_baggages: Number of bags.
        nonfree_baggages: Number of bags that are not free.
        insurance: Travel insurance for all passengers.
    """
    user = user_of(world, user_id)
    reservation_id = next((one for one in NEW_IDS if one not in world.tables["reservations"]), None)
    if reservation_id is None:
        world.refuse("too many reservations")
    booked = [segment(world, choice, cabin, len(passengers)) for choice in flights]
    price = sum(one["price"] for one in booked) * len(passengers)
    price += INSURANCE_USD * len(passengers) if insurance == "yes" else 0
    price += BAGGAGE_USD * nonfree_baggages
    require_payments(world, user, payment_methods, price)
    take_payments(world, user_id, payment_methods)
    reservation: Row = {
        "reservation_id": reservation_id,
        "user_id": user_id,
        "origin": origin,
        "destination": destination,
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": booked,
        "passengers": [dict(one) for one in passengers],
        "payment_history": [dict(one) for one in payment_methods],
        "created_at": NOW,
        "total_baggages": total_baggages,
        "nonfree_baggages": nonfree_baggages,
        "insurance": insurance,
    }
    if not world.is_tau1:
        reservation["status"] = None
        _take_seats(world, booked, cabin, len(passengers))
    world.tables["reservations"].add(reservation_id, reservation)
    world.tables["users"].edit(user_id)["reservations"].append(reservation_id)
    return reservation


@tool("write")
def cancel_reservation(world: DeskWorld, reservation_id: str) -> dict[str, Any]:
    """Cancel a whole reservation and refund it. Whether the policy allows it is not checked. Explain it, and
    have the user confirm (yes) first.

    Args:
        reservation_id: Id of the reservation, such as 8AB3CD.
    """
    reservation_of(world, reservation_id)
    reservation = world.tables["reservations"].edit(reservation_id)
    reservation["payment_history"] += [
        {"payment_id": one["payment_id"], "amount": -one["amount"]} for one in reservation["payment_history"]
    ]
    reservation["status"] = "cancelled"
    return reservation


@tool("write")
def update_reservation_baggages(
    world: DeskWorld, reservation_id: str, total_baggages: Count, nonfree_baggages: Count, payment_id: str
) -> dict[str, Any]:
    """Change the numbers of bags of a reservation. Explain it, and have the user confirm (yes) first.

    Args:
        reservation_id: Id of the reservation, such as 8AB3CD.
        total_baggages: New number of bags.
        nonfree_baggages: New number of bags that are not free.
        payment_id: Payment method of the user, not a certificate.
    """
    reservation = reservation_of(world, reservation_id)
    price = BAGGAGE_USD * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    _pay(world, reservation, payment_id, price)
    reservation = world.tables["reservations"].edit(reservation_id)
    reservation["total_baggages"], reservation["nonfree_baggages"] = total_baggages, nonfree_baggages
    return reservation


@tool("write")
def update_reservation_flights(
    world: DeskWorld, reservation_id: str, cabin: Cabin, flights: list[FlightChoice], payment_id: str
) -> dict[str, Any]:
    """Replace the flights of a reservation. Explain it, and have the user confirm (yes) first.

    Args:
        reservation_id: Id of the reservation, such as 8AB3CD.
        cabin: Cabin of all flights.
        flights: All flights of the new reservation, also those that stay, each by number and day.
        payment_id: Payment method of the user for the difference, not a certificate.
    """
    reservation = reservation_of(world, reservation_id)
    seats = len(reservation["passengers"])
    chosen = [_kept(reservation, one, cabin) or segment(world, one, cabin, seats) for one in flights]
    before = sum(one["price"] for one in reservation["flights"]) * seats
    _pay(world, reservation, payment_id, sum(one["price"] for one in chosen) * seats - before)
    reservation = world.tables["reservations"].edit(reservation_id)
    reservation["flights"] = chosen
    if not world.is_tau1:
        reservation["cabin"] = cabin
    return reservation


@tool("write")
def update_reservation_passengers(
    world: DeskWorld, reservation_id: str, passengers: list[Passenger]
) -> dict[str, Any]:
    """Change the data of the passengers of a reservation; their number stays. Explain it, and have the user
    confirm (yes) first.

    Args:
        reservation_id: Id of the reservation, such as 8AB3CD.
        passengers: All passengers.
    """
    reservation = reservation_of(world, reservation_id)
    if len(passengers) != len(reservation["passengers"]):
        world.refuse("number of passengers does not match")
    reservation = world.tables["reservations"].edit(reservation_id)
    reservation["passengers"] = [dict(one) for one in passengers]
    return reservation


@tool("write")
def send_certificate(world: DeskWorld, user_id: str, amount: float) -> str:
    """Send a user a certificate as a compensation.

    Args:
        user_id: Id of the user, such as jane_roe_1234.
        amount: Amount in USD.
    """
    methods = user_of(world, user_id)["payment_methods"]
    payment_id = next((one for one in CERTIFICATES if one not in methods), None)
    if payment_id is None:
        world.refuse("too many certificates")
    methods = world.tables["users"].edit(user_id)["payment_methods"]
    methods[payment_id] = {"source": "certificate", "amount": amount, "id": payment_id}
    return f"Certificate {payment_id} added to user {user_id} with amount {amount}."


def _kept(reservation: Row, choice: FlightChoice, cabin: str) -> Row | None:
    """The segment of a reservation that a choice keeps, with its price; None for a new one."""
    if reservation["cabin"] != cabin:
        return None
    wanted = (choice["flight_number"], choice["date"])
    for one in reservation["flights"]:
        if (one["flight_number"], one["date"]) == wanted:
            return dict(one)
    return None


def _pay(world: DeskWorld, reservation: Row, payment_id: str, amount: float) -> None:
    """Charge a change of a reservation, and note it in its payment history."""
    entry = charge(world, reservation["user_id"], payment_id, amount)
    if entry is not None:
        world.tables["reservations"].edit(reservation["reservation_id"])["payment_history"].append(entry)


def _take_seats(world: DeskWorld, booked: list[Row], cabin: str, seats: int) -> None:
    for one in booked:
        day = world.tables["flights"].edit(one["flight_number"])["dates"][one["date"]]
        day["available_seats"][cabin] -= seats


WRITES = (
    book_reservation,
    cancel_reservation,
    update_reservation_baggages,
    update_reservation_flights,
    update_reservation_passengers,
    send_certificate,
)
