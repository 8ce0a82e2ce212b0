"""Word lists of generated databases."""

from collections.abc import Mapping
from typing import NamedTuple


class Noun(NamedTuple):
    """Noun of a table."""

    one: str
    many: str


class Number(NamedTuple):
    """Column of numbers."""

    phrase: str
    low: int
    high: int
    digits: int = 0
    """Digits after the decimal point."""


def _nouns(text: str) -> tuple[Noun, ...]:
    pairs = (word.split("/") for word in text.split())
    return tuple(Noun(pair[0], pair[1] if len(pair) > 1 else f"{pair[0]}s") for pair in pairs)


ENTITIES: Mapping[str, tuple[Noun, ...]] = {
    "train": _nouns("""
        harbor barge orchard beekeeper vineyard sawmill quarry/quarries locksmith potter weaver tailor caravan
        windmill bakery/bakeries ferry/ferries observatory/observatories telescope glider balloon sculptor
        cartographer greenhouse orchid tortoise aquarium lighthouse trawler smokehouse distillery/distilleries
        cooper tannery/tanneries saddler stable pony/ponies jeweler gem printer almanac reservoir
        pumphouse cellar cheese forester ranger cabin trailhead glacier expedition dynamo turbine
    """),
    "valid": _nouns("""
        monastery/monasteries scribe manuscript apiary/apiaries falconer falcon kiln tile canal lockkeeper
    """),
    "test": _nouns("""
        brewery/breweries brewer barrel foundry/foundries smith anvil circus/circuses acrobat tent
        nursery/nurseries gardener hedge shipyard rigger
    """),
}
LINKS: Mapping[str, tuple[Noun, ...]] = {
    "train": _nouns("contract visit rental delivery/deliveries inspection auction loan booking repair"),
    "valid": _nouns("audit handover"),
    "test": _nouns("tender rehearsal assignment"),
}
CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "region": ("Norrvale", "Estmark", "Suthlin", "Wessen", "Midfold", "Highmoor"),
    "color": ("red", "amber", "green", "teal", "violet", "grey"),
    "material": ("oak", "copper", "granite", "linen", "glass", "bronze"),
    "status": ("active", "paused", "closed", "planned"),
    "grade": ("A", "B", "C", "D", "E"),
    "season": ("spring", "summer", "autumn", "winter"),
    "style": ("plain", "ornate", "rustic", "modern", "classic"),
    "language": ("Arvic", "Belmar", "Cortish", "Delvan", "Ostrin"),
    "guild": ("Lantern", "Anchor", "Thistle", "Compass", "Hammer"),
    "license": ("full", "limited", "trial", "expired"),
}
NUMBERS: Mapping[str, Number] = {
    "age": Number("age", 18, 75),
    "height": Number("height", 2, 90),
    "weight": Number("weight", 5, 400),
    "capacity": Number("capacity", 10, 500),
    "founded": Number("founding year", 1780, 2010),
    "price": Number("price", 3, 200, 2),
    "rating": Number("rating", 1, 10, 1),
    "revenue": Number("revenue", 100, 9000),
    "distance": Number("distance", 1, 120, 1),
    "experience": Number("experience", 1, 40),
    "stock": Number("stock", 0, 60),
    "score": Number("score", 1, 20),
}
LINK_NUMBERS: Mapping[str, Number] = {
    "hours": Number("hours", 1, 12),
    "amount": Number("amount", 10, 900),
    "quantity": Number("quantity", 1, 30),
    "fee": Number("fee", 2, 80, 1),
}
FIRST = ("Al", "Bren", "Cor", "Dal", "El", "Fen", "Gar", "Hol", "Is", "Jor", "Kel", "Lor", "Mar", "Nor", "Or")
MIDDLE = ("a", "e", "i", "o", "an", "er", "il", "on", "ur")
LAST = ("bek", "dan", "fry", "gard", "lin", "mar", "nis", "rick", "sen", "thor", "ven", "wick")
