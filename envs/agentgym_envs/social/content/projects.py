"""Projects with secrets: what a fact may be about, and its values with their synonyms."""

from typing import Final

from agentgym_envs.social.content import Pools

PROJECTS: Final[Pools] = {
    "train": ("the new museum", "a merger", "the stadium", "a rescue of the zoo", "the harbour tunnel"),
    "valid": ("the film festival", "an airfield"),
    "test": ("the opera house", "a space probe", "the city marathon"),
}

LABELS: Final = {
    "place": "place",
    "sponsor": "sponsor",
    "start": "start",
    "budget": "budget",
    "leader": "leader",
    "staff": "number of staff",
    "material": "material",
    "rival": "rival",
}
"""Name of a fact in words by its key. Keys are syntax, and so the same everywhere."""

_PLACES: Final = {
    "train": (("Lisbon", "capital of Portugal"), ("Geneva", "lake town"), ("Boston", "bay city")),
    "valid": (("Athens", "capital of Greece"), ("Bremen", "town musicians")),
    "test": (("Vienna", "capital of Austria"), ("Toronto", "CN Tower"), ("Pune", "queen of the Deccan")),
}
_FIRMS: Final = {
    "train": (
        ("Corvex", "the raven firm"),
        ("Talbion", "TBN"),
        ("Murano Bank", "glass bank"),
        ("Ostara", "OST"),
    ),
    "valid": (("Pellucid", "PLC"), ("Granite Trust", "stone bank"), ("Velora", "VLR"), ("Dunmark", "DMK")),
    "test": (
        ("Quillon", "QLN"),
        ("Harbour Mutual", "blue bank"),
        ("Zephyrus", "the wind firm"),
        ("Idra", "IDR"),
    ),
}
_STARTS: Final = {
    "train": (("March", "third month"), ("June", "sixth month"), ("October", "tenth month")),
    "valid": (("April", "fourth month"), ("August", "eighth month")),
    "test": (("February", "second month"), ("July", "seventh month"), ("November", "eleventh month")),
}
_SUMS: Final = {
    "train": (
        ("40 million", "forty million"),
        ("15 million", "fifteen million"),
        ("70 million", "seventy million"),
    ),
    "valid": (("25 million", "twenty five million"), ("60 million", "sixty million")),
    "test": (
        ("35 million", "thirty five million"),
        ("90 million", "ninety million"),
        ("12 million", "twelve million"),
    ),
}
_LEADERS: Final = {
    "train": (("Thornbury", "the admiral"), ("Castellan", "the professor"), ("Okafor", "the doctor")),
    "valid": (("Ravensworth", "the colonel"), ("Lindqvist", "the architect")),
    "test": (("Montague", "the judge"), ("Sorensen", "the pilot"), ("Achebe", "the poet")),
}
_STAFF: Final = {
    "train": (("120", "one hundred and twenty"), ("45", "forty five"), ("300", "three hundred")),
    "valid": (("80", "eighty"), ("210", "two hundred and ten")),
    "test": (("55", "fifty five"), ("170", "one hundred and seventy"), ("400", "four hundred")),
}
_MATERIALS: Final = {
    "train": (("copper", "red metal"), ("bamboo", "giant grass"), ("basalt", "black stone")),
    "valid": (("marble", "white stone"), ("cork", "bark")),
    "test": (("titanium", "grey metal"), ("larch", "alpine wood"), ("slate", "roof stone")),
}

VALUES: Final[dict[str, dict[str, tuple[tuple[str, str], ...]]]] = {
    "place": _PLACES,
    "sponsor": _FIRMS,
    "start": _STARTS,
    "budget": _SUMS,
    "leader": _LEADERS,
    "staff": _STAFF,
    "material": _MATERIALS,
    "rival": _FIRMS,
}
"""By key and split: values, each with a synonym."""
