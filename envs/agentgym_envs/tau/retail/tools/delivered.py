"""Tools of retail that change delivered orders."""

from typing import Any

from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tau.retail.rows import DELIVERED, method_of, order_of, replacements, require_funds
from agentgym_envs.tooluse import tool


@tool("write")
def return_delivered_order_items(
    world: DeskWorld, order_id: str, item_ids: list[str], payment_method_id: str
) -> dict[str, Any]:
    """Request the return of items of a delivered order, once for an order. Explain it, and have the user
    confirm (yes) first; how to send them comes by e-mail.

    Args:
        order_id: Id of the order with its sign, such as #W1234567.
        item_ids: Ids of the items; one that occurs twice in the order may occur twice.
        payment_method_id: Where the refund goes: the original payment method, or a gift card.
    """
    order = order_of(world, order_id)
    if order["status"] != DELIVERED:
        world.refuse("non-delivered order cannot be returned")
    method = method_of(world, order["user_id"], payment_method_id)
    original = order["payment_history"][0]["payment_method_id"]
    if method["source"] != "gift_card" and payment_method_id != original:
        world.refuse("payment method should be either the original payment method or a gift card")
    owned = [item["item_id"] for item in order["items"]]
    if any(item_ids.count(item_id) > owned.count(item_id) for item_id in item_ids):
        world.refuse("some item not found")
    order = world.tables["orders"].edit(order_id)
    order["status"] = "return requested"
    order["return_items"] = sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return order


@tool("write")
def exchange_delivered_order_items(
    world: DeskWorld, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> dict[str, Any]:
    """Request the exchange of items of a delivered order for other variants of the same products, once for an
    order. Explain it, and have the user confirm (yes) first.

    Args:
        order_id: Id of the order with its sign, such as #W1234567.
        item_ids: Ids of the items; one that occurs twice in the order may occur twice.
        new_item_ids: Ids of the new items, in the same order.
        payment_method_id: Payment method for the difference of the prices.
    """
    order = order_of(world, order_id)
    if order["status"] != DELIVERED:
        world.refuse("non-delivered order cannot be exchanged")
    chosen = replacements(world, order, item_ids, new_item_ids, differ=False)
    difference = round(sum(one.price_difference for one in chosen), 2)
    method = method_of(world, order["user_id"], payment_method_id)
    require_funds(world, method, difference, "price difference")
    order = world.tables["orders"].edit(order_id)
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return order


WRITES = (return_delivered_order_items, exchange_delivered_order_items)
