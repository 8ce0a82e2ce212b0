"""Tools of retail that change pending orders, and users."""

from typing import Any, Literal

from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tau.retail.rows import (
    MODIFIED,
    PENDING,
    add_to_card,
    address,
    entry,
    method_of,
    order_of,
    replacements,
    require_funds,
)
from agentgym_envs.tooluse import tool
from agentgym_envs.tooluse.tables import Row


@tool("write")
def cancel_pending_order(
    world: DeskWorld, order_id: str, reason: Literal["no longer needed", "ordered by mistake"]
) -> dict[str, Any]:
    """Cancel a pending order and refund it: to a gift card at once, otherwise in 5 to 7 business days.

    Explain it, and have the user confirm (yes) first.

    Args:
        order_id: Id of the order with its sign, such as #W1234567.
        reason: Reason of the user.
    """
    order = order_of(world, order_id)
    if order["status"] != PENDING:
        world.refuse("non-pending order cannot be cancelled")
    order = world.tables["orders"].edit(order_id)
    paid = list(order["payment_history"])
    for payment in paid:
        order["payment_history"].append(entry("refund", payment["amount"], payment["payment_method_id"]))
        add_to_card(world, order["user_id"], payment["payment_method_id"], payment["amount"])
    order["status"], order["cancel_reason"] = "cancelled", reason
    return order


@tool("write")
def modify_pending_order_address(
    world: DeskWorld,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,  # noqa: A002 - the argument's name
) -> dict[str, Any]:
    """Change the shipping address of a pending order. Explain it, and have the user confirm (yes) first.

    Args:
        order_id: Id of the order with its sign, such as #W1234567.
        address1: First line, such as 12 Main Street.
        address2: Second line, such as Apt 3; may be empty.
        city: City.
        state: State, such as CA.
        country: Country, such as USA.
        zip: Zip code.
    """
    _require_pending(world, order_of(world, order_id))
    order = world.tables["orders"].edit(order_id)
    order["address"] = address(address1, address2, city, state, country, zip)
    return order


@tool("write")
def modify_pending_order_items(
    world: DeskWorld, order_id: str, item_ids: list[str], new_item_ids: list[str], payment_method_id: str
) -> dict[str, Any]:
    """Replace items of a pending order by other variants of the same products, once for an order. Explain it,
    and have the user confirm (yes) first.

    Args:
        order_id: Id of the order with its sign, such as #W1234567.
        item_ids: Ids of the items; one that occurs twice in the order may occur twice.
        new_item_ids: Ids of the new items, in the same order.
        payment_method_id: Payment method for the difference of the prices.
    """
    order = order_of(world, order_id)
    if order["status"] != PENDING:
        world.refuse("non-pending order cannot be modified")
    chosen = replacements(world, order, item_ids, new_item_ids, differ=not world.is_tau1)
    difference = sum(one.price_difference for one in chosen)
    method = method_of(world, order["user_id"], payment_method_id)
    require_funds(world, method, difference, "new item")
    order = world.tables["orders"].edit(order_id)
    kind = "payment" if difference > 0 else "refund"
    order["payment_history"].append(entry(kind, abs(difference), payment_method_id))
    add_to_card(world, order["user_id"], payment_method_id, -difference)
    for one in chosen:
        item = next(item for item in order["items"] if item["item_id"] == one.item_id)
        # The benchmark's tau2 writes the last variant's price and options into every item.
        variant = chosen[-1].variant if world.quirks and not world.is_tau1 else one.variant
        item["item_id"] = one.new_item_id
        item["price"], item["options"] = variant["price"], dict(variant["options"])
    order["status"] = MODIFIED
    return order


@tool("write")
def modify_pending_order_payment(world: DeskWorld, order_id: str, payment_method_id: str) -> dict[str, Any]:
    """Change the payment method of a pending order. Explain it, and have the user confirm (yes) first.

    Args:
        order_id: Id of the order with its sign, such as #W1234567.
        payment_method_id: Id of the new payment method of the user.
    """
    order = order_of(world, order_id)
    _require_pending(world, order)
    method = method_of(world, order["user_id"], payment_method_id)
    history = order["payment_history"]
    if len(history) != 1 or history[0]["transaction_type"] != "payment":
        world.refuse("there should be exactly one payment for a pending order")
    before, amount = history[0]["payment_method_id"], history[0]["amount"]
    if before == payment_method_id:
        world.refuse("the new payment method should be different from the current one")
    require_funds(world, method, amount, "order")
    order = world.tables["orders"].edit(order_id)
    order["payment_history"] += [entry("payment", amount, payment_method_id), entry("refund", amount, before)]
    add_to_card(world, order["user_id"], payment_method_id, -amount)
    add_to_card(world, order["user_id"], before, amount)
    return order


@tool("write")
def modify_user_address(
    world: DeskWorld,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,  # noqa: A002 - the argument's name
) -> dict[str, Any]:
    """Change the default address of a user. Explain it, and have the user confirm (yes) first.

    Args:
        user_id: Id of the user, such as jane_roe_1234.
        address1: First line, such as 12 Main Street.
        address2: Second line, such as Apt 3; may be empty.
        city: City.
        state: State, such as CA.
        country: Country, such as USA.
        zip: Zip code.
    """
    world.row("users", user_id, "user")
    user = world.tables["users"].edit(user_id)
    user["address"] = address(address1, address2, city, state, country, zip)
    return user


def _require_pending(world: DeskWorld, order: Row) -> None:
    """Raise `ToolError` for an order that is not pending; tau2 counts modified ones as pending."""
    status = order["status"]
    if status != PENDING and (world.is_tau1 or PENDING not in status):
        world.refuse("non-pending order cannot be modified")


WRITES = (
    cancel_pending_order,
    modify_pending_order_address,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_user_address,
)
