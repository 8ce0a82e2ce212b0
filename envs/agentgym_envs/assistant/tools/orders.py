"""Tools for orders in a shop."""

from typing import Any, Literal

from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.pages import (
    Id,
    Limit,
    Name,
    Page,
    Search,
    Selection,
    existing,
    page,
    update,
)
from agentgym_envs.tooluse import ToolError, tool


@tool("read")
def list_orders(
    session: Session,
    query: Name | None = None,
    status: Literal["pending", "shipped", "delivered", "cancelled", "returned"] | None = None,
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """List orders.

    Args:
        query: Part of the item's name.
        status: Status.
        limit: Items of a page.
        cursor: Next page.
    """
    filters = [Search(("item",), query), ("status = ?", status)]
    columns = "id, item, quantity, price, status"
    return page(session, Selection("shop_order", columns, filters), limit, cursor)


@tool("read")
def get_order(session: Session, order_id: Id) -> dict[str, Any]:
    """Get an order.

    Args:
        order_id: Id of the order.
    """
    session.saw("shop_order", [order_id])
    return existing(session, "shop_order", order_id, "order_id")


@tool("write")
def cancel_order(session: Session, order_id: Id) -> dict[str, int]:
    """Cancel a pending order.

    Args:
        order_id: Id of the order.
    """
    _move(session, order_id, "pending", "cancelled")
    return {"cancelled": order_id}


@tool("write")
def return_order(session: Session, order_id: Id) -> dict[str, int]:
    """Return a delivered order.

    Args:
        order_id: Id of the order.
    """
    _move(session, order_id, "delivered", "returned")
    return {"returned": order_id}


@tool("write")
def change_address(session: Session, order_id: Id, address: Name) -> dict[str, Any]:
    """Change the address of a pending order.

    Args:
        order_id: Id of the order.
        address: New address.
    """
    order = existing(session, "shop_order", order_id, "order_id")
    if order["status"] != "pending":
        raise ToolError(f"not_pending: order {order_id} is {order['status']}", argument="order_id")
    update(session, "shop_order", order_id, {"address": address})
    return existing(session, "shop_order", order_id, "order_id")


def _move(session: Session, order_id: int, before: str, after: str) -> None:
    order = existing(session, "shop_order", order_id, "order_id")
    if order["status"] != before:
        raise ToolError(f"not_{before}: order {order_id} is {order['status']}", argument="order_id")
    update(session, "shop_order", order_id, {"status": after})


TOOLS = (list_orders, get_order, cancel_order, return_order, change_address)
