"""Built-in tasks of retail: one request about each order, as the order's status allows.

Splits are disjoint in customers.
"""

from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any, NamedTuple

from agentgym_envs.tau.data.domain import Tasks
from agentgym_envs.tau.desk.people import drawn_address
from agentgym_envs.tau.reading import ticket_of
from agentgym_envs.tau.retail.builtin.shop import VERSION, shop
from agentgym_envs.tau.tasks import Action, Scenario, TauTask
from agentgym_envs.tooluse.tables import Row

ENV = "tau-retail"
SOURCE = "builtin"
SPLITS = ("train", "train", "train", "train", "train", "train", "train", "valid", "test", "test")
"""Split by the last digit of a customer's number."""


class Request(NamedTuple):
    """A wish of a customer, and the call that grants it."""

    kind: str
    wish: str
    action: Action | None
    facts: tuple[str, ...] = ()
    """Facts that the customer asks to be told."""


class Case(NamedTuple):
    """A customer, one of the customer's orders, and random numbers."""

    user: Row
    order: Row
    draw: Random

    @property
    def number(self) -> str:
        """Id of the order."""
        return self.order["order_id"]


@cache
def builtin_tasks() -> Tasks:
    """The tasks, which all instances share."""
    splits: dict[str, list[TauTask]] = {split: [] for split in dict.fromkeys(SPLITS)}
    for number, user in enumerate(shop().tables["users"].values()):
        split = SPLITS[number % len(SPLITS)]
        requests = [(one, request) for one in user["orders"] for request in _requests(user, one)]
        for order_id, request in requests:
            splits[split].append(_task(split, len(splits[split]), user, order_id, request))
    return Tasks(splits, {SOURCE: shop()}, f"builtin:{VERSION}")


def _requests(user: Row, order_id: str) -> list[Request]:
    order = shop().tables["orders"][order_id]
    draw = Random(f"agentevol.tau-retail.{VERSION}.{order_id}")
    makers = MAKERS.get(order["status"], ())
    made = [maker(Case(user, order, draw)) for maker in draw.sample(makers, min(2, len(makers)))]
    return [request for request in made if request is not None]


def _task(split: str, number: int, user: Row, order_id: str, request: Request) -> TauTask:
    name, zip_code = user["name"], user["address"]["zip"]
    by_mail = number % 2 == 0
    known = f"You are {name['first_name']} {name['last_name']}, " + (
        f"e-mail {user['email']}." if by_mail else f"zip code {zip_code}."
    )
    find = (
        Action(name="find_user_id_by_email", arguments={"email": user["email"]})
        if by_mail
        else Action(name="find_user_id_by_name_zip", arguments={**name, "zip": zip_code})
    )
    look = Action(name="get_order_details", arguments={"order_id": order_id})
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
        gold=(find, look, *((request.action,) if request.action else ())),
        communicate=request.facts,
        basis=("DB", "COMMUNICATE"),
    )


def _cancel(of: Case) -> Request:
    reason = of.draw.choice(("no longer needed", "ordered by mistake"))
    why = "You do not need it any more." if reason == "no longer needed" else "You ordered it by mistake."
    return Request(
        "cancel",
        f"You want to cancel your order {of.number}. {why}",
        Action(name="cancel_pending_order", arguments={"order_id": of.number, "reason": reason}),
    )


def _send_elsewhere(of: Case) -> Request:
    new = drawn_address(of.draw)
    second = f", {new['address2']}" if new["address2"] else " (no second line)"
    wish = (
        f"Your order {of.number} is to be sent to {new['address1']}{second}, {new['city']},"
        f" {new['state']} {new['zip']}, {new['country']}."
    )
    arguments = {"order_id": of.number, **new}
    return Request("address", wish, Action(name="modify_pending_order_address", arguments=arguments))


def _pay_otherwise(of: Case) -> Request | None:
    payment = of.order["payment_history"][0]
    amount = payment["amount"]
    others = [
        one
        for one in of.user["payment_methods"].values()
        if one["id"] != payment["payment_method_id"] and one.get("balance", amount) >= amount
    ]
    if not others:
        return None
    new = of.draw.choice(others)
    wish = f"You want to pay your order {of.number} with your {new['source'].replace('_', ' ')} instead."
    arguments = {"order_id": of.number, "payment_method_id": new["id"]}
    return Request("payment", wish, Action(name="modify_pending_order_payment", arguments=arguments))


def _change(of: Case) -> Request | None:
    return _replacement(of, "modify_pending_order_items", "change", "modify")


def _exchange(of: Case) -> Request | None:
    return _replacement(of, "exchange_delivered_order_items", "exchange", "exchange")


def _replacement(of: Case, tool: str, verb: str, kind: str) -> Request | None:
    item = of.draw.choice(of.order["items"])
    variants = shop().tables["products"][item["product_id"]]["variants"].values()
    others = [one for one in variants if one["available"] and one["item_id"] != item["item_id"]]
    if not others:
        return None
    new = of.draw.choice(others)
    wish = (
        f"You want to {verb} the {item['name']} of your order {of.number} for the variant with"
        f" {_told(new['options'])}. The difference goes through the payment method of the order."
    )
    arguments = {
        "order_id": of.number,
        "item_ids": [item["item_id"]],
        "new_item_ids": [new["item_id"]],
        "payment_method_id": of.order["payment_history"][0]["payment_method_id"],
    }
    return Request(kind, wish, Action(name=tool, arguments=arguments))


def _return(of: Case) -> Request:
    items = of.draw.sample(of.order["items"], of.draw.randint(1, len(of.order["items"])))
    names = " and the ".join(item["name"] for item in items)
    wish = (
        f"You want to return the {names} of your order {of.number}, refunded to the payment method of"
        " the order."
    )
    arguments = {
        "order_id": of.number,
        "item_ids": [item["item_id"] for item in items],
        "payment_method_id": of.order["payment_history"][0]["payment_method_id"],
    }
    return Request("return", wish, Action(name="return_delivered_order_items", arguments=arguments))


def _ask(of: Case) -> Request:
    amount = str(of.order["payment_history"][0]["amount"])
    wish = f"You want to know how much you paid for your order {of.number}, to the cent."
    return Request("question", wish, None, (amount,))


def _told(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())


Maker = Callable[[Case], Request | None]
MAKERS: dict[str, tuple[Maker, ...]] = {
    "pending": (_cancel, _send_elsewhere, _pay_otherwise, _change),
    "delivered": (_return, _exchange, _ask),
    "processed": (_ask,),
}
"""Requests by the status of an order."""
