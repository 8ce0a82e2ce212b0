"""Built-in tasks of the airline: two requests about each reservation. Splits are disjoint in passengers."""

from collections.abc import Callable
from functools import cache
from random import Random
from typing import NamedTuple

from agentgym_envs.tau.airline.builtin.timetable import DAYS, VERSION, airline
from agentgym_envs.tau.airline.rows import BAGGAGE_USD
from agentgym_envs.tau.data.domain import Tasks
from agentgym_envs.tau.reading import ticket_of
from agentgym_envs.tau.tasks import Action, Scenario, TauTask
from agentgym_envs.tooluse.tables import Row

ENV = "tau-airline"
SOURCE = "builtin"
SPLITS = ("train", "train", "train", "train", "train", "train", "train", "valid", "test", "test")
"""Split by the last digit of a passenger's number."""


class Request(NamedTuple):
    """A wish of a passenger, and the calls that grant it."""

    kind: str
    wish: str
    actions: tuple[Action, ...]
    facts: tuple[str, ...] = ()
    """Facts that the passenger asks to be told."""


class Case(NamedTuple):
    """A passenger, one of the passenger's reservations, and random numbers."""

    user: Row
    reservation: Row
    draw: Random

    @property
    def number(self) -> str:
        """Id of the reservation."""
        return self.reservation["reservation_id"]


@cache
def builtin_tasks() -> Tasks:
    """The tasks, which all instances share."""
    splits: dict[str, list[TauTask]] = {split: [] for split in dict.fromkeys(SPLITS)}
    for number, user in enumerate(airline().tables["users"].values()):
        split = SPLITS[number % len(SPLITS)]
        requests = [request for one in user["reservations"] for request in _requests(user, one)]
        for request in requests:
            splits[split].append(_task(split, len(splits[split]), user, request))
    return Tasks(splits, {SOURCE: airline()}, f"builtin:{VERSION}")


def _requests(user: Row, reservation_id: str) -> list[Request]:
    draw = Random(f"agentevol.tau-airline.{VERSION}.{reservation_id}")
    case = Case(user, airline().tables["reservations"][reservation_id], draw)
    made = [maker(case) for maker in draw.sample(MAKERS, 2)]
    return [request for request in made if request is not None]


def _task(split: str, number: int, user: Row, request: Request) -> TauTask:
    name = user["name"]
    known = f"You are {name['first_name']} {name['last_name']}, user id {user['user_id']}."
    scenario = Scenario(reason=request.wish, known=known)
    return TauTask(
        env=ENV,
        id=f"{split}/{number}",
        split=split,
        instruction=ticket_of(scenario),
        kind=request.kind,
        source=SOURCE,
        user_id=user["user_id"],
        scenario=scenario,
        gold=request.actions,
        communicate=request.facts,
        basis=("DB", "COMMUNICATE"),
    )


def _look(reservation: Row) -> Action:
    arguments = {"reservation_id": reservation["reservation_id"]}
    return Action(name="get_reservation_details", arguments=arguments)


def _cancel(of: Case) -> Request:
    arguments = {"reservation_id": of.number}
    return Request(
        "cancel",
        f"You want to cancel your reservation {of.number}.",
        (_look(of.reservation), Action(name="cancel_reservation", arguments=arguments)),
    )


def _bags(of: Case) -> Request:
    more = of.draw.randint(1, 3)
    wish = (
        f"You want to add {more} more bags to your reservation {of.number}, none of them"
        f" free, and pay {more * BAGGAGE_USD} USD with the credit card that paid for it."
    )
    arguments = {
        "reservation_id": of.number,
        "total_baggages": of.reservation["total_baggages"] + more,
        "nonfree_baggages": of.reservation["nonfree_baggages"] + more,
        "payment_id": of.reservation["payment_history"][0]["payment_id"],
    }
    action = Action(name="update_reservation_baggages", arguments=arguments)
    return Request("baggage", wish, (_look(of.reservation), action))


def _passenger(of: Case) -> Request:
    passenger = of.reservation["passengers"][0]
    new = {**passenger, "last_name": of.draw.choice(("Ashgrove", "Brandvold", "Castellane", "Dunmore"))}
    wish = (
        f"The last name of the passenger of your reservation {of.number} has changed to {new['last_name']}."
    )
    arguments = {"reservation_id": of.number, "passengers": [new]}
    action = Action(name="update_reservation_passengers", arguments=arguments)
    return Request("passenger", wish, (_look(of.reservation), action))


def _cabin(of: Case) -> Request | None:
    booked = of.reservation["flights"][0]
    day = airline().tables["flights"][booked["flight_number"]]["dates"][booked["date"]]
    if day["available_seats"]["business"] < 1:
        return None
    wish = (
        f"You want to fly in business class on your reservation {of.number}, and pay with"
        " the credit card that paid for it."
    )
    arguments = {
        "reservation_id": of.number,
        "cabin": "business",
        "flights": [{"flight_number": booked["flight_number"], "date": booked["date"]}],
        "payment_id": of.reservation["payment_history"][0]["payment_id"],
    }
    action = Action(name="update_reservation_flights", arguments=arguments)
    return Request("cabin", wish, (_look(of.reservation), action))


def _book(of: Case) -> Request | None:
    """The cheapest direct flight in economy on the way of the reservation, on another day."""
    origin, destination = of.reservation["origin"], of.reservation["destination"]
    date = of.draw.choice(DAYS)
    offers = sorted(
        (row["dates"][date]["prices"]["economy"], row["flight_number"])
        for row in airline().tables["flights"].values()
        if (row["origin"], row["destination"]) == (origin, destination)
        and row["dates"][date]["status"] == "available"
        and row["dates"][date]["available_seats"]["economy"] >= 1
    )
    if not offers or len({price for price, _ in offers}) < len(offers):
        return None
    price, number = offers[0]
    card = of.reservation["payment_history"][0]["payment_id"]
    wish = (
        f"You want to book the cheapest direct flight from {origin} to {destination} on {date} in economy,"
        " one way, for you alone, without bags and insurance, and pay with your credit card."
    )
    way = {"origin": origin, "destination": destination}
    arguments = {
        "user_id": of.user["user_id"],
        **way,
        "flight_type": "one_way",
        "cabin": "economy",
        "flights": [{"flight_number": number, "date": date}],
        "passengers": [{**of.user["name"], "dob": of.user["dob"]}],
        "payment_methods": [{"payment_id": card, "amount": price}],
        "total_baggages": 0,
        "nonfree_baggages": 0,
        "insurance": "no",
    }
    actions = (
        Action(name="get_user_details", arguments={"user_id": of.user["user_id"]}),
        Action(name="search_direct_flight", arguments={**way, "date": date}),
        Action(name="book_reservation", arguments=arguments),
    )
    return Request("book", wish, actions)


def _ask(of: Case) -> Request:
    wish = f"You want to know what you paid for your reservation {of.number}, in USD."
    paid = str(of.reservation["payment_history"][0]["amount"])
    return Request("question", wish, (_look(of.reservation),), (paid,))


Maker = Callable[[Case], Request | None]
MAKERS: tuple[Maker, ...] = (_cancel, _bags, _passenger, _cabin, _book, _ask)
