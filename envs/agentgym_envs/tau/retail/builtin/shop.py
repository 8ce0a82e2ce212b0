"""The invented shop: products with variants, customers and orders, in the benchmark's schema."""

from functools import cache
from itertools import product
from random import Random
from typing import Any

from agentgym_envs.tau.data.domain import Domain
from agentgym_envs.tau.desk.people import Person, credit_card, drawn_address, identifier, person
from agentgym_envs.tau.retail.builtin.policy import POLICY
from agentgym_envs.tau.retail.rows import entry
from agentgym_envs.tooluse.tables import Row

VERSION = "1"
"""Part of the seed: another generator makes another shop."""
USERS = 80
PRODUCTS: dict[str, tuple[float, dict[str, tuple[str, ...]]]] = {
    "Rain Jacket": (70.0, {"color": ("green", "navy", "sand"), "size": ("S", "M", "L")}),
    "Trail Shoes": (95.0, {"size": ("39", "41", "43"), "sole": ("soft", "firm")}),
    "Reading Lamp": (
        45.0,
        {"color": ("brass", "white"), "plug": ("USB", "mains"), "height": ("low", "tall")},
    ),
    "Teapot": (38.0, {"material": ("clay", "glass", "steel"), "capacity": ("0.5 l", "1 l")}),
    "Day Pack": (60.0, {"capacity": ("15 l", "20 l", "28 l"), "color": ("grey", "orange")}),
    "Wall Clock": (32.0, {"diameter": ("20 cm", "30 cm"), "hands": ("black", "copper", "red")}),
    "Desk Chair": (180.0, {"color": ("black", "blue"), "armrests": ("none", "fixed", "folding")}),
    "Headset": (85.0, {"connection": ("cable", "wireless"), "color": ("black", "silver", "white")}),
}
"""Name to base price in USD, and values of its options."""
STATUSES = ("pending", "pending", "delivered", "delivered", "processed", "cancelled")
UNAVAILABLE = 0.2
"""Share of the variants that are sold out."""


@cache
def shop() -> Domain:
    """The base state, which all tasks share."""
    draw = Random(f"agentevol.tau-retail.{VERSION}")
    taken = set[str]()
    tables: dict[str, dict[str, Row]] = {"products": {}, "users": {}, "orders": {}}
    for name, (price, options) in PRODUCTS.items():
        row = _product(name, price, options, draw, taken)
        tables["products"][row["product_id"]] = row
    for number in range(USERS):
        _add_user(tables, person(number, draw), draw, taken)
    return Domain(tables, policies={"policy": POLICY})


def _product(
    name: str, price: float, options: dict[str, tuple[str, ...]], draw: Random, taken: set[str]
) -> Row:
    variants: dict[str, Row] = {}
    for values in product(*options.values()):
        item_id = identifier("1", draw, taken)
        variants[item_id] = {
            "item_id": item_id,
            "options": dict(zip(options, values, strict=True)),
            "available": draw.random() >= UNAVAILABLE,
            "price": round(price * draw.uniform(0.85, 1.2), 2),
        }
    return {"name": name, "product_id": identifier("2", draw, taken), "variants": variants}


def _add_user(tables: dict[str, dict[str, Row]], who: Person, draw: Random, taken: set[str]) -> None:
    card = credit_card(draw)
    gift = {
        "source": "gift_card",
        "id": identifier("gift_card_", draw, taken),
        "balance": float(draw.randint(20, 300)),
    }
    paypal = {"source": "paypal", "id": identifier("paypal_", draw, taken)}
    methods: list[dict[str, Any]] = [card, *draw.sample([gift, paypal], draw.randint(1, 2))]
    orders = [_add_order(tables, who.user_id, methods, draw, taken) for _ in range(draw.randint(2, 4))]
    tables["users"][who.user_id] = {
        "user_id": who.user_id,
        "name": who.name,
        "address": drawn_address(draw),
        "email": f"{who.user_id.replace('_', '.')}@example.org",
        "payment_methods": {one["id"]: one for one in methods},
        "orders": orders,
    }


def _add_order(
    tables: dict[str, dict[str, Row]],
    user_id: str,
    methods: list[dict[str, Any]],
    draw: Random,
    taken: set[str],
) -> str:
    order_id = identifier("#W", draw, taken)
    items = [_item(one, draw) for one in draw.sample(list(tables["products"].values()), draw.randint(1, 3))]
    total = round(sum(item["price"] for item in items), 2)
    paid = entry(
        "payment", total, draw.choice([one for one in methods if one["source"] != "gift_card"])["id"]
    )
    status = draw.choice(STATUSES)
    refunded = [{**paid, "transaction_type": "refund"}] if status == "cancelled" else []
    tables["orders"][order_id] = {
        "order_id": order_id,
        "user_id": user_id,
        "address": drawn_address(draw),
        "items": items,
        "fulfillments": [],
        "status": status,
        "payment_history": [paid, *refunded],
    }
    return order_id


def _item(of: Row, draw: Random) -> Row:
    variant = draw.choice(list(of["variants"].values()))
    return {
        "name": of["name"],
        "product_id": of["product_id"],
        "item_id": variant["item_id"],
        "price": variant["price"],
        "options": dict(variant["options"]),
    }
