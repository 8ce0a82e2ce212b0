"""Rows of the airline: payment methods, and seats of flights with their prices."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from agentgym_envs.tau.airline.tools.lookups import flight_on, user_of
from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tooluse.tables import Row

NOW = "2024-05-15T15:00:00"
"""Clock of every episode."""
INSURANCE_USD = 30
"""Price for each passenger."""
BAGGAGE_USD = 50
"""Price of a bag that is not free."""


class FlightChoice(TypedDict):
    """A flight on a day."""

    flight_number: str
    date: str


class Passenger(TypedDict):
    """A passenger; the date of birth is YYYY-MM-DD."""

    first_name: str
    last_name: str
    dob: str


class Payment(TypedDict):
    """An amount in USD from one payment method of the user."""

    payment_id: str
    amount: float


def segment(world: DeskWorld, choice: FlightChoice, cabin: str, seats: int) -> Row:
    """The flight of a day with the price of its cabin, for this many passengers; raises `ToolError`."""
    number = choice["flight_number"]
    day = flight_on(world, number, choice["date"])
    if day["status"] != "available":
        world.refuse(f"flight {number} not available on date {choice['date']}")
    if day["available_seats"][cabin] < seats:
        world.refuse(f"not enough seats on flight {number}")
    flight = world.tables["flights"][number]
    return {
        "flight_number": number,
        "date": choice["date"],
        "price": day["prices"][cabin],
        "origin": flight["origin"],
        "destination": flight["destination"],
    }


def method_of(world: DeskWorld, user: Row, payment_id: str) -> Row:
    """A payment method of a user, to be read; raises `ToolError`."""
    if payment_id not in user["payment_methods"]:
        if world.is_tau1:
            world.refuse(f"payment method {payment_id[:80]} not found")
        world.refuse("payment method not found")
    return user["payment_methods"][payment_id]


def charge(world: DeskWorld, user_id: str, payment_id: str, amount: float) -> dict[str, Any] | None:
    """Charge an amount (or refund a negative one) for a change of a reservation, and return the entry of the
    payment history: None for an amount of 0.

    Raises `ToolError` for a certificate, and for a gift card that does not suffice.
    """
    method = method_of(world, user_of(world, user_id), payment_id)
    if method["source"] == "certificate":
        world.refuse("certificate cannot be used to update reservation")
    if method["source"] == "gift_card" and method["amount"] < amount:
        world.refuse("gift card balance is not enough")
    if method["source"] == "gift_card":
        card = world.tables["users"].edit(user_id)["payment_methods"][payment_id]
        card["amount"] -= amount
    return {"payment_id": payment_id, "amount": amount} if amount != 0 else None


def require_payments(world: DeskWorld, user: Row, payments: Sequence[Payment], price: float) -> None:
    """Raise `ToolError` unless the methods exist, suffice and add up to a price.

    A gift card has to cover all payments from it together; a certificate can be used in one only, which uses
    it up.
    """
    spent = dict[str, float]()
    for payment in payments:
        payment_id, amount = payment["payment_id"], payment["amount"]
        method = method_of(world, user, payment_id)
        if method["source"] == "certificate" and payment_id in spent:
            world.refuse(f"certificate {payment_id} can be used only once")
        spent[payment_id] = spent.get(payment_id, 0) + amount
        if method["source"] != "credit_card" and method["amount"] < max(amount, spent[payment_id]):
            world.refuse(f"not enough balance in payment method {payment_id}")
    paid = sum(payment["amount"] for payment in payments)
    if paid != price:
        world.refuse(f"payment amount does not add up, total price is {price}, but paid {paid}")


def take_payments(world: DeskWorld, user_id: str, payments: Sequence[Payment]) -> None:
    """Debit gift cards, and remove certificates, which are used up whole."""
    for payment in payments:
        source = world.tables["users"][user_id]["payment_methods"][payment["payment_id"]]["source"]
        if source == "credit_card":
            continue
        methods: dict[str, Any] = world.tables["users"].edit(user_id)["payment_methods"]
        if source == "gift_card":
            methods[payment["payment_id"]]["amount"] -= payment["amount"]
        else:
            del methods[payment["payment_id"]]
