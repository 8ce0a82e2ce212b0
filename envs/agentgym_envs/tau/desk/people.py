"""Invented people: names, addresses and payment methods of the built-in help desks."""

from random import Random
from typing import Any, NamedTuple

FIRST_NAMES = (
    *("Alva", "Birger", "Corinna", "Dmitri", "Elodie", "Fabian", "Ginevra", "Halvard", "Imke", "Joaquin"),
    *("Katinka", "Lorenz", "Malin", "Nestor", "Odile", "Pavel", "Runa", "Silvan", "Thora", "Vasco"),
)
LAST_NAMES = (
    *("Albrecht", "Bellweather", "Cormorant", "Delacroix", "Engstrom", "Fairbairn", "Grimaldi", "Hazelhurst"),
    *("Isaksen", "Juniper", "Kowalczyk", "Lachance", "Marchetti", "Nightingale", "Ostrowski", "Pemberton"),
)
STREETS = ("Acorn Street", "Bramble Road", "Chandler Row", "Dale Avenue", "Ferry Lane", "Granite Way")
TOWNS = (
    ("Brightwater", "MN", "55"),
    ("Cedar Hollow", "PA", "17"),
    ("Eastmere", "WA", "98"),
    ("Larkspur", "NM", "87"),
)


class Person(NamedTuple):
    """Name and id of a customer."""

    user_id: str
    first_name: str
    last_name: str

    @property
    def name(self) -> dict[str, str]:
        """The name as tables have it."""
        return {"first_name": self.first_name, "last_name": self.last_name}

    @property
    def full_name(self) -> str:
        """First and last name."""
        return f"{self.first_name} {self.last_name}"


def person(number: int, draw: Random) -> Person:
    """A person whose name no other number below 320 has."""
    first = FIRST_NAMES[number % len(FIRST_NAMES)]
    last = LAST_NAMES[(number // len(FIRST_NAMES) + number) % len(LAST_NAMES)]
    return Person(f"{first}_{last}_{draw.randint(1000, 9999)}".lower(), first, last)


def drawn_address(draw: Random) -> dict[str, str]:
    """An address as tables have it."""
    city, state, zip_start = draw.choice(TOWNS)
    return {
        "address1": f"{draw.randint(2, 480)} {draw.choice(STREETS)}",
        "address2": draw.choice(("", f"Apt {draw.randint(1, 40)}", f"Suite {draw.randint(100, 900)}")),
        "city": city,
        "state": state,
        "country": "USA",
        "zip": f"{zip_start}{draw.randint(100, 999)}",
    }


def credit_card(draw: Random) -> dict[str, Any]:
    """A credit card."""
    return {
        "source": "credit_card",
        "id": f"credit_card_{draw.randint(10**6, 10**7 - 1)}",
        "brand": draw.choice(("visa", "mastercard")),
        "last_four": f"{draw.randint(1000, 9999)}",
    }


def identifier(prefix: str, draw: Random, taken: set[str]) -> str:
    """A number of seven digits after a prefix, which is not taken yet."""
    while True:
        found = f"{prefix}{draw.randint(10**6, 10**7 - 1)}"
        if found not in taken:
            taken.add(found)
            return found
