"""Invented names and plain words of generated dialogues."""


def listed(text: str) -> tuple[str, ...]:
    """The words of a text."""
    return tuple(text.split())


PEOPLE = listed(
    "Adira Bento Corin Dalia Edric Fenna Goran Halima Ivo Jorun Kasimir Leota Marek Nadeem Odile Pavol"
    " Quilla Rurik Senja Tamsin Ulla Vesna Wendel Xanti Yara Zoltan"
)
FOLDERS = listed("seedbeds orchard glasshouse toolshed ledgers sketches harvest compost seasons visitors")
FILES = listed(
    "beans tomatoes rainfall invoices bees fences volunteers paths soil cuttings wages pumps bulbs"
    " nettles deliveries apples"
)
WORDS = listed(
    "water the north row before noon count every tray twice bring gloves late frost may come order more"
    " twine leave gate open weigh crates sort labels dry roots turn heap prune low branches"
)
TITLES = (
    "Pump makes a loud noise",
    "Gate does not lock",
    "Cold frame has a crack",
    "Printer in the office is empty",
    "Password of the weather station is lost",
    "Lamp above the bench flickers",
    "Order of twine did not arrive",
    "Scale shows wrong weights",
)
REMEDIES = (
    "The part was replaced",
    "A visit is planned for Friday",
    "It was set up again",
    "Nothing was found",
)
