"""The invented airline: flights, passengers and reservations, in the benchmark's schema."""

from functools import cache
from random import Random
from typing import Any

from agentgym_envs.tau.airline.builtin.policy import POLICY
from agentgym_envs.tau.airline.tools.lookups import AIRPORTS
from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.desk.people import Person, credit_card, drawn_address, identifier, person
from agentgym_envs.tooluse.tables import Row

VERSION = "1"
"""Part of the seed: another generator makes another airline."""
FLIGHTS = 60
USERS = 80
DAYS = tuple(f"2024-05-{day}" for day in range(16, 26))
FACTORS = {"basic_economy": 1, "economy": 2, "business": 4}
"""Price of a cabin as a multiple of the cheapest one's."""
CABINS = tuple(FACTORS)
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


@cache
def airline() -> Domain:
    """The base state, which all tasks share."""
    draw = Random(f"agentevol.tau-airline.{VERSION}")
    taken = set[str]()
    tables: dict[str, dict[str, Row]] = {"flights": {}, "reservations": {}, "users": {}}
    for number in range(FLIGHTS):
        row = _flight(number, draw)
        tables["flights"][row["flight_number"]] = row
    for number in range(USERS):
        _add_user(tables, person(number, draw), draw, taken)
    return Domain(tables, policies={"policy": POLICY})


def _flight(number: int, draw: Random) -> Row:
    origin, destination = draw.sample(sorted(AIRPORTS)[:8], 2)
    departs, takes = draw.randint(5, 18), draw.randint(1, 5)
    return {
        "flight_number": f"NVA{number + 101}",
        "origin": origin,
        "destination": destination,
        "scheduled_departure_time_est": f"{departs:02d}:00:00",
        "scheduled_arrival_time_est": f"{departs + takes:02d}:30:00",
        "dates": {day: _day(draw) for day in DAYS},
    }


def _day(draw: Random) -> Row:
    if draw.random() < 0.1:
        return {"status": "cancelled"}
    base = draw.randint(60, 140)
    return {
        "status": "available",
        "available_seats": {cabin: draw.randint(0, 18) for cabin in CABINS},
        "prices": {
            cabin: base * factor + draw.randint(0, 20)
            for cabin, factor in zip(CABINS, (1, 2, 4), strict=True)
        },
    }


def _add_user(tables: dict[str, dict[str, Row]], who: Person, draw: Random, taken: set[str]) -> None:
    card = credit_card(draw)
    gift = {
        "source": "gift_card",
        "id": identifier("gift_card_", draw, taken),
        "amount": draw.randint(20, 400),
    }
    methods: list[dict[str, Any]] = [card, *([gift] if draw.random() < 0.5 else [])]
    born = f"19{draw.randint(50, 99)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"
    user: Row = {
        "user_id": who.user_id,
        "name": who.name,
        "address": drawn_address(draw),
        "email": f"{who.user_id.replace('_', '.')}@example.org",
        "dob": born,
        "payment_methods": {one["id"]: one for one in methods},
        "saved_passengers": [],
        "membership": draw.choice(("regular", "silver", "gold")),
        "reservations": [],
    }
    tables["users"][who.user_id] = user
    for _ in range(draw.randint(1, 3)):
        row = _reservation(tables, user, card["id"], draw)
        tables["reservations"][row["reservation_id"]] = row
        user["reservations"].append(row["reservation_id"])


def _reservation(tables: dict[str, dict[str, Row]], user: Row, card_id: str, draw: Random) -> Row:
    reservation_id = "".join(draw.sample(LETTERS, 6))
    while reservation_id in tables["reservations"]:
        reservation_id = "".join(draw.sample(LETTERS, 6))
    flight, day = _bookable(tables, draw)
    cabin = draw.choice(CABINS[:2])
    price = flight["dates"][day]["prices"][cabin]
    passenger = {**user["name"], "dob": user["dob"]}
    bags = draw.randint(0, 2)
    return {
        "reservation_id": reservation_id,
        "user_id": user["user_id"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "flight_type": "one_way",
        "cabin": cabin,
        "flights": [
            {
                "flight_number": flight["flight_number"],
                "origin": flight["origin"],
                "destination": flight["destination"],
                "date": day,
                "price": price,
            }
        ],
        "passengers": [passenger],
        "payment_history": [{"payment_id": card_id, "amount": price}],
        "created_at": f"2024-05-{draw.randint(10, 14)}T{draw.randint(8, 19):02d}:20:00",
        "total_baggages": bags,
        "nonfree_baggages": 0,
        "insurance": draw.choice(("yes", "no")),
        "status": None,
    }


def _bookable(tables: dict[str, dict[str, Row]], draw: Random) -> tuple[Row, str]:
    """A flight and a day on which it is available."""
    while True:
        flight, day = draw.choice(list(tables["flights"].values())), draw.choice(DAYS)
        if flight["dates"][day]["status"] == "available":
            return flight, day
