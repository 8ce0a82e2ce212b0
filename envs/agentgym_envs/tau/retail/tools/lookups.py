"""Tools of retail that read."""

from typing import Any

from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tooluse import tool


@tool("read")
def find_user_id_by_email(world: DeskWorld, email: str) -> str:
    """Find the id of a user by e-mail address.

    Args:
        email: E-mail address; case does not matter.
    """
    users = world.tables["users"]
    wanted = email.lower()
    found = next((key for key in users if users[key]["email"].lower() == wanted), None)
    return found if found is not None else world.refuse("user not found")


@tool("read")
def find_user_id_by_name_zip(world: DeskWorld, first_name: str, last_name: str, zip: str) -> str:  # noqa: A002 - the argument's name
    """Find the id of a user by name and zip code, for users who do not know their e-mail address.

    Args:
        first_name: First name; case does not matter.
        last_name: Last name; case does not matter.
        zip: Zip code.
    """
    users = world.tables["users"]
    wanted = (first_name.lower(), last_name.lower(), zip)
    for key in users:
        name, address = users[key]["name"], users[key]["address"]
        if (name["first_name"].lower(), name["last_name"].lower(), address["zip"]) == wanted:
            return key
    world.refuse("user not found")


@tool("read")
def get_user_details(world: DeskWorld, user_id: str) -> dict[str, Any]:
    """Show a user: name, address, payment methods and orders.

    Args:
        user_id: Id of the user, such as jane_roe_1234.
    """
    return world.row("users", user_id, "user")


@tool("read")
def get_order_details(world: DeskWorld, order_id: str) -> dict[str, Any]:
    """Show an order: status, items, address and payments.

    Args:
        order_id: Id of the order with its sign, such as #W1234567.
    """
    return world.row("orders", order_id, "order")


@tool("read")
def get_product_details(world: DeskWorld, product_id: str) -> dict[str, Any]:
    """Show a product with its variants, their options, prices and availability.

    Args:
        product_id: Id of the product, which is not that of an item.
    """
    return world.row("products", product_id, "product")


@tool("read")
def get_item_details(world: DeskWorld, item_id: str) -> dict[str, Any]:
    """Show a variant of a product by its item id.

    Args:
        item_id: Id of the item.
    """
    products = world.tables["products"]
    for key in products:
        if item_id in products[key]["variants"]:
            return products[key]["variants"][item_id]
    world.refuse("item not found")


@tool("read")
def list_all_product_types(world: DeskWorld) -> dict[str, str]:
    """List the names and ids of all products."""
    products = world.tables["products"]
    return dict(sorted((products[key]["name"], key) for key in products))


READS = (
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_user_details,
    get_order_details,
    get_product_details,
    list_all_product_types,
)
