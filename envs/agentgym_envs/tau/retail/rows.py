"""Rows of retail: the owner's payment methods, items of an order, and exchanges of items."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tooluse.tables import Row

PENDING, MODIFIED, DELIVERED = "pending", "pending (item modified)", "delivered"


class Replacement(NamedTuple):
    """An item of an order, and the variant that replaces it."""

    item_id: str
    new_item_id: str
    price_difference: float
    variant: Row


def order_of(world: DeskWorld, order_id: str) -> Row:
    """An order, to be read; raises `ToolError`."""
    return world.row("orders", order_id, "order")


def method_of(world: DeskWorld, user_id: str, payment_method_id: str) -> Row:
    """A payment method of a user, to be read; raises `ToolError`."""
    methods = world.row("users", user_id, "user")["payment_methods"]
    if payment_method_id not in methods:
        world.refuse("payment method not found")
    return methods[payment_method_id]


def require_funds(world: DeskWorld, method: Row, amount: float, purpose: str) -> None:
    """Raise `ToolError` if a method is a gift card that does not cover an amount."""
    if method["source"] == "gift_card" and method["balance"] < amount:
        world.refuse(f"insufficient gift card balance to pay for the {purpose}")


def add_to_card(world: DeskWorld, user_id: str, payment_method_id: str, amount: float) -> None:
    """Add an amount to the balance of a gift card; other methods have none."""
    method = world.tables["users"][user_id]["payment_methods"].get(payment_method_id)
    if method is not None and method["source"] == "gift_card":
        card = world.tables["users"].edit(user_id)["payment_methods"][payment_method_id]
        card["balance"] = round(card["balance"] + amount, 2)


def entry(kind: str, amount: float, payment_method_id: str) -> dict[str, Any]:
    """An entry of an order's payment history."""
    return {"transaction_type": kind, "amount": amount, "payment_method_id": payment_method_id}


def replacements(
    world: DeskWorld, order: Row, item_ids: Sequence[str], new_item_ids: Sequence[str], *, differ: bool
) -> list[Replacement]:
    """The replacements of items, checked; `differ`: a new item may not be the old one. Raises `ToolError`."""
    owned = [item["item_id"] for item in order["items"]]
    for item_id in item_ids:
        if item_ids.count(item_id) > owned.count(item_id):
            world.refuse(f"{item_id[:80]} not found")
    if len(item_ids) != len(new_item_ids):
        world.refuse("the number of items to be exchanged should match")
    found = list[Replacement]()
    for item_id, new_item_id in zip(item_ids, new_item_ids, strict=True):
        if differ and item_id == new_item_id:
            world.refuse("the new item id should be different from the old item id")
        item = next(one for one in order["items"] if one["item_id"] == item_id)
        variant = world.tables["products"][item["product_id"]]["variants"].get(new_item_id)
        if variant is None or not variant["available"]:
            world.refuse(f"new item {new_item_id[:80]} not found or available")
        found.append(Replacement(item_id, new_item_id, variant["price"] - item["price"], variant))
    return found


def address(address1: str, address2: str, city: str, state: str, country: str, zip_code: str) -> Row:
    """An address as the tables have it."""
    return {
        "address1": address1,
        "address2": address2,
        "city": city,
        "state": state,
        "country": country,
        "zip": zip_code,
    }
